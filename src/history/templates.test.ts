import { describeTemplates } from '../../test/conformance/templates.ts';
import { describeStores } from '../../test/support/history-stores.ts';

describeStores('templates', describeTemplates);
