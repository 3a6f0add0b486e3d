// fengari has no types. What is used of it is described in fengari/library.ts and checked where it is loaded.
declare module 'fengari/src/*.js' {
  const contents: unknown
  export default contents
}
