// A target that never answers and never ends by itself.
process.stdin.resume();
setInterval(() => {}, 60_000);
