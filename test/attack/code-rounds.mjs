// node code-rounds.mjs BOX ROUNDS: runs that many programs in one box and prints, as JSON, what they left behind.
import { readdirSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

const [, , folder, count] = process.argv
const { createJavaScriptBox } = await import(pathToFileURL(`${folder}/box.js`).href)
const { defaultLimits } = await import(pathToFileURL(`${folder}/program.js`).href)

const threads = () => readdirSync('/proc/self/task').length
const megabytes = () => Math.round(process.memoryUsage.rss() / 2 ** 20)

const host = {
  functions: [
    { name: 'read', waits: true },
    { name: 'output', waits: false },
  ],
  call: async ({ args }) => ({ value: args }),
}
/** What models write: mostly programs that work, and some of each kind that does not. */
const programs = [
  'const texts = parallel(Array.from({ length: 10 }, (_, i) => ({ tool: "read", input: { i } }))); output(texts.length); texts',
  'interface A { n: number }\nlet sum = 0; for (let i = 0; i < 1000; i++) { const a: A = { n: i }; sum += a.n }; sum',
  'const all = []; for (let i = 0; i < 20; i++) all.push(await read({ i })); return all.length',
  'null.x',
  'const text = "x".repeat(1e6); read(text)[0].length',
]
const hostile = [
  'const all = []; for (;;) all.push(new Array(1000).fill(1))',
  'for (;;) {}',
  'new Array(2 ** 31).join("x")',
]

const before = threads()
const box = createJavaScriptBox()
const signal = new AbortController().signal
let early = 0
let most = 0
for (let round = 0; round < Number(count); round += 1) {
  const isHostile = round % 20 === 19
  const code = isHostile ? hostile[((round - 19) / 20) % hostile.length] : programs[round % programs.length]
  const limits = { ...defaultLimits, timeMs: isHostile ? 100 : 30_000 }
  await box.run({ code }, host, { limits, seed: round, now: round, signal })
  if (round === Math.floor(count / 10)) early = megabytes()
  most = Math.max(most, threads() - before)
}
const late = megabytes()
await box.close()
const after = {
  threads: threads() - before,
  handles: process.getActiveResourcesInfo().filter((name) => /worker|port/i.test(name)),
}
process.stdout.write(`${JSON.stringify({ rounds: Number(count), early, late, mostThreads: most, ...after })}\n`)
