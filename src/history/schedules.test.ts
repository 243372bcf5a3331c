import { describeSchedules } from '../../test/conformance/schedules.ts';
import { describeStores } from '../../test/support/history-stores.ts';

describeStores('schedules', describeSchedules);
