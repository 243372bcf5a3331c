/** Starts `headgate lsp` and gives it the documents that are open. */
const { window, workspace } = require('vscode');
const { LanguageClient } = require('vscode-languageclient/node');

let client;

exports.activate = async function activate() {
  const command = workspace.getConfiguration('headgate').get('path', 'headgate');
  // On Windows npm installs programs as scripts of the shell.
  const shell = process.platform === 'win32';
  client = new LanguageClient(
    'headgate',
    'Headgate',
    { command: shell ? `"${command}"` : command, args: ['lsp'], options: { shell } },
    { documentSelector: [{ language: 'headgate-yaml' }, { language: 'headgate-json' }] },
  );
  try {
    await client.start();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    window.showErrorMessage(
      `Headgate cannot be started as \`${command}\`: ${why}. Install it with \`npm i -g headgate\`, or say where it lies in the setting headgate.path.`,
    );
  }
};

exports.deactivate = function deactivate() {
  return client?.stop();
};
