// A target that never answers and never ends by itself; a deaf one does not read, either.
if (!process.argv.includes('deaf')) process.stdin.resume();
setInterval(() => {}, 60_000);
