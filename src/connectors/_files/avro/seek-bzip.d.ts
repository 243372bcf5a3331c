declare module 'seek-bzip' {
  const bzip2: { decode(compressed: Uint8Array): Buffer };
  export default bzip2;
}
