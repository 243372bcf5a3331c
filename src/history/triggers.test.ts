import { describeTriggers } from '../../test/conformance/triggers-store.ts';
import { describeStores } from '../../test/support/history-stores.ts';

describeStores('triggers', describeTriggers);
