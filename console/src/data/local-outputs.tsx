import { answerOf } from '../lib/answer.ts';
import { useAsked } from '../lib/use-asked.ts';
import { AskedView } from '../parts/asked-view.tsx';
import { Empty } from '../parts/small.tsx';
import { OutputTable } from '../run/outputs.tsx';
import { T } from '../texts.ts';

export function LocalOutputs() {
  const asked = useAsked(async (client, signal) =>
    answerOf(await client.routes.GET('/v1/local-outputs', { signal })),
  );
  return (
    <AskedView of={asked}>
      {({ outputs, preview_enabled: canPreview }) =>
        outputs.length === 0 ? (
          <Empty title={T.data.noOutputs}>{T.data.noOutputsHint}</Empty>
        ) : (
          <OutputTable outputs={outputs} canPreview={canPreview} />
        )
      }
    </AskedView>
  );
}
