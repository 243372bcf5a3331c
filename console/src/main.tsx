import { render } from 'preact';
import { begin } from './lib/session.ts';
import { applyTheme } from './lib/theme.ts';
import { App } from './shell/app.tsx';
import './style/elements.css';
import './style/parts.css';
import './style/runs.css';
import './style/run.css';
import './style/author.css';
import './style/graph.css';
import './style/narrow.css';

applyTheme();
void begin();
const root = document.getElementById('app');
if (root !== null) render(<App />, root);
