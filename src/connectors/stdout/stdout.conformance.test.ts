import { describeSink } from '../../../test/conformance/sink.ts';
import { stdoutSink } from './index.ts';

describeSink(stdoutSink, {
  fresh: async () => ({ config: { destination: 'stderr', max_records: 0 }, rows: async () => undefined }),
  broken: {},
  unreadable: 'what was printed is gone',
});
