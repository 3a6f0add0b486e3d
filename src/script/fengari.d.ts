// fengari has no types. The parts in use are described in fengari/library.ts and checked when it is loaded.
declare module 'fengari/src/*.js' {
  const contents: unknown
  export default contents
}
