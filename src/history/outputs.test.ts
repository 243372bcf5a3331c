import { describeOutputs } from '../../test/conformance/outputs.ts';
import { describeStores } from '../../test/support/history-stores.ts';

describeStores('outputs', describeOutputs);
