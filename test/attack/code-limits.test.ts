import { afterAll } from 'vitest'
import { createJavaScriptBox } from '../../src/script/javascript/box.ts'
import { attack } from './attempts.ts'
import { type Attempt, expectBoxHolds, titled } from './code-harness.ts'

// A program that never ends or exhausts a resource ends at a limit that it cannot catch, and the same box runs the next
// one.

const box = createJavaScriptBox()
afterAll(async () => box.close())

const interrupt = 'the engine looks at the clock'
const ended = 'the thread is ended from outside'
const time = { limit: 'time' } as const
/** For programs that may hit this limit or another one. */
const short = { timeMs: 150 }

const endless: Readonly<Record<string, Attempt>> = {
  'a loop': { code: 'for (;;) {}', by: interrupt, ends: time },
  'a loop that catches': {
    code: 'for (;;) try { for (;;) {} } catch {} finally { continue }',
    by: interrupt,
    ends: time,
  },
  'a loop in finally': { code: 'try { for (;;) {} } finally { for (;;) {} }', by: interrupt, ends: time },
  'a loop that the value would follow': {
    code: '(() => { try { for (;;) {} } finally { return 1 } })()',
    by: interrupt,
    ends: time,
  },
  'a loop in a job': { code: 'queueMicrotask(() => { for (;;) {} }); 1', by: interrupt, ends: time },
  'jobs that make jobs': {
    code: 'const again = () => queueMicrotask(again); again()',
    by: 'jobs are run in portions',
    ends: time,
  },
  'promises that make promises': {
    code: 'const again = () => Promise.resolve().then(again); again()',
    by: 'jobs are run in portions',
    ends: time,
  },
  'waiting for ever, again and again': { code: 'for (;;) await null', by: 'jobs are run in portions', ends: time },
  'an async function that catches its end': {
    code: 'const f = async () => { for (;;) try { for (;;) await null } catch {} }; f()',
    by: interrupt,
    ends: time,
  },
  'a generator': {
    code: 'const g = (function* () { for (;;) yield 1 })(); [...g]',
    limits: short,
    by: 'time or memory',
    ends: { error: /longer than|memory/ },
  },
  'a generator that does not return': {
    code: 'const g = (function* () { try { yield 1 } finally { for (;;) {} } })(); for (const one of g) break',
    by: interrupt,
    ends: time,
  },
  'an async iterator': {
    code: 'const all = { async *[Symbol.asyncIterator]() { for (;;) yield null } }; for await (const one of all) {}',
    by: 'jobs are run in portions',
    ends: time,
  },
  'a regular expression that tries all ways': {
    code: '/^(a+)+$/.test("a".repeat(40) + "b")',
    by: interrupt,
    ends: time,
  },
  'a regular expression of references': {
    code: String.raw`/(x+x+)+\1y/.test('x'.repeat(60))`,
    by: interrupt,
    ends: time,
  },
  'sorting with a comparison that takes long': {
    code: 'Array.from({ length: 1e5 }, (_, i) => i).sort(() => { for (let i = 0; i < 1e6; i++) {} return 0 })',
    by: interrupt,
    ends: time,
  },
  'a getter that the engine calls': {
    code: 'const o = { get length() { for (;;) {} } }; Array.from(o)',
    by: interrupt,
    ends: time,
  },
  'toString that never ends, of an error': {
    code: 'throw { toString() { for (;;) {} }, get message() { for (;;) {} } }',
    by: interrupt,
    ends: time,
  },
  'a native loop that does not look at the clock': { code: 'new Array(2 ** 31).join("x")', by: ended, ends: time },
  'another one': { code: 'Array.prototype.indexOf.call({ length: 2 ** 50 }, 1)', by: ended, ends: time },
  'a native loop behind a promise': {
    code: 'await null; Array.prototype.indexOf.call({ length: 2 ** 50 }, 1)',
    by: ended,
    ends: time,
  },
  'powers of large integers': {
    code: 'let n = 3n; for (;;) n = n * n',
    limits: short,
    by: 'time or size',
    ends: { error: /longer than|memory|BigInt/ },
  },
  'a large integer as text': {
    code: 'String(7n ** 1000000n).length',
    by: 'time or size',
    limits: short,
    ends: { error: /longer than|memory|BigInt/ },
  },
  'waiting without a clock': {
    code: 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)',
    by: 'there is no shared memory',
    ends: { error: /'Atomics' is not defined|'Int32Array'|'SharedArrayBuffer' is not defined/ },
  },
  'TypeScript that takes long to read': {
    code: `${'a<'.repeat(20_000)}string>(1)`,
    limits: short,
    by: 'reading it is its own time',
    ends: { error: /./ },
  },
}

attack('a program that never ends is ended', { core: titled(endless), every: 2 }, async (attempt) =>
  expectBoxHolds(box, attempt),
)

const capped = 'the memory of the engine is capped'
const memory = { limit: 'memory' } as const

const large: Readonly<Record<string, Attempt>> = {
  'a list that grows': {
    code: 'const all = []; for (;;) all.push(new Array(1000).fill(1))',
    by: capped,
    ends: memory,
  },
  'a text that doubles': {
    code: 'let text = "x"; for (;;) text += text',
    by: 'the engine has a longest text',
    ends: { error: /memory|too long/ },
  },
  'texts that are kept': {
    code: 'const all = []; for (let i = 0; ; i++) all.push(("x" + i).repeat(10000))',
    by: capped,
    ends: memory,
  },
  'padding, repeating and joining': {
    code: `const all = []; for (const make of [() => 'x'.repeat(1e9), () => 'x'.padEnd(1e9), () => new Array(1e6).join('x'.repeat(1000))])
      try { all.push(make().length) } catch (error) { all.push(error.name) }
      all`,
    by: 'the engine has a longest text',
    ends: { value: ['InternalError', 'InternalError', 'InternalError'] },
  },
  buffers: { code: 'const all = []; for (;;) all.push(new ArrayBuffer(1e6))', by: capped, ends: memory },
  'a buffer that is larger than all memory': {
    code: 'new ArrayBuffer(4e9).byteLength',
    by: capped,
    ends: { error: /memory|invalid array buffer length|length/i },
  },
  'a Map and a Set': {
    code: 'const map = new Map(), set = new Set(); for (let i = 0; ; i++) { map.set(i, [i]); set.add({ i }) }',
    by: capped,
    ends: memory,
  },
  closures: {
    code: 'let f = () => 0; const all = []; for (let i = 0; ; i++) { const g = f, h = new Array(100).fill(i); f = () => g() + h.length; all.push(f) }',
    by: capped,
    ends: memory,
  },
  'promises that are kept': {
    code: 'const all = []; for (;;) all.push(new Promise(() => {}).then(() => new Array(100)))',
    by: capped,
    ends: memory,
  },
  'memory that it catches the end of': {
    code: 'const all = []; let caught = 0; while (caught < 20) try { for (;;) all.push(new Array(1000).fill(1)) } catch { caught += 1 }\n all.length = 0; caught',
    by: capped,
    ends: { value: 20 },
  },
  'an error at the end of memory that is thrown on': {
    code: 'const all = []; try { for (;;) all.push(new Array(100).fill(1)) } catch (error) { throw { message: error.message, all } }',
    by: capped,
    ends: { error: /memory/ },
  },
  'an answer while there is no memory left': {
    code: 'const all = []; try { for (;;) all.push(new Array(100).fill(1)) } catch {}\n big().length',
    tools: { big: () => 'x'.repeat(3_000_000) },
    by: 'the engine ends, and nothing else',
    ends: { error: /./ },
  },
  'a function that calls itself': {
    code: 'const f = () => f() + 1; f()',
    by: 'its stack is limited',
    ends: { limit: 'stack' },
  },
  'functions that call themselves in catch and finally': {
    code: '(function f() { try { f() } catch { f() } finally { f() } })()',
    by: interrupt,
    ends: time,
  },
  'a deep value': {
    code: 'let deep = []; for (let i = 0; i < 1e5; i++) deep = [deep]; JSON.stringify(echo(deep)).length < 2000',
    by: 'what is nested more than 100 times is not followed',
    ends: { value: true },
  },
  'deep JSON that it reads': {
    code: 'JSON.parse("[".repeat(1e6))',
    by: 'its stack is limited',
    ends: { limit: 'stack' },
  },
  'deep JSON that it writes': {
    code: 'let deep = {}; for (let i = 0; i < 1e5; i++) deep = { deep }; JSON.stringify(deep)',
    limits: short,
    by: 'its stack is limited, or its time',
    ends: { error: /./ },
  },
  'a deep program': {
    code: `${'['.repeat(100_000)}1${']'.repeat(100_000)}`,
    limits: short,
    by: 'its stack is limited',
    ends: { error: /./ },
  },
  'a deep program in eval': {
    code: 'eval("(".repeat(1e5))',
    by: 'its stack is limited',
    ends: { error: /./ },
  },
  'a deep regular expression': {
    code: 'new RegExp("(".repeat(1e5) + ")".repeat(1e5))',
    by: 'its stack is limited',
    ends: { error: /./ },
  },
  'toString that calls itself': {
    code: 'const o = { toString() { return "" + o } }; "" + o',
    by: 'its stack is limited',
    ends: { limit: 'stack' },
  },
  'a proxy of a proxy of a proxy': {
    code: 'let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); p.x',
    by: 'its stack is limited',
    ends: { limit: 'stack' },
  },
  'a program that is too long': {
    code: `${'1;'.repeat(600_000)}`,
    by: 'programs have a longest length',
    ends: { error: /longer than 1000000 characters/ },
  },
}

attack('a program that takes all there is gets its share', { core: titled(large), every: 3 }, async (attempt) =>
  expectBoxHolds(box, attempt),
)

const calls = 'calls are counted'
const floods: Readonly<Record<string, Attempt>> = {
  '100,000 calls that are not awaited': {
    code: 'for (let i = 0; i < 1e5; i++) (async () => echo(i))().catch(() => {}); 1',
    limits: { calls: 1000 },
    mostCalls: 1000,
    by: calls,
    ends: { limit: 'calls' },
  },
  '100,000 calls at once': {
    code: 'parallel(Array.from({ length: 1e5 }, (_, i) => ({ tool: "echo", input: i })))',
    mostCalls: 0,
    by: calls,
    ends: { limit: 'calls' },
  },
  'calls that it goes on with whatever happens': {
    code: 'for (;;) try { echo(1) } catch {}',
    limits: { calls: 100 },
    mostCalls: 100,
    by: calls,
    ends: { limit: 'calls' },
  },
  'calls of functions that it does not wait for': {
    code: 'for (;;) output("")',
    limits: { calls: 100 },
    mostCalls: 100,
    by: calls,
    ends: { limit: 'calls' },
  },
  'a flood of output': {
    code: 'for (;;) output("x".repeat(1000))',
    limits: { outputChars: 100_000 },
    mostCalls: 100,
    by: 'what is given out is counted',
    ends: { limit: 'output' },
  },
  'output that it catches the end of': {
    code: 'for (;;) try { output("x".repeat(1000)) } catch {}',
    limits: { outputChars: 100_000 },
    mostCalls: 100,
    by: 'what is given out is counted',
    ends: { limit: 'output' },
  },
  'a large value': {
    code: '"x".repeat(5e6)',
    by: 'what is given out is counted',
    ends: { limit: 'output' },
  },
  'a large argument': {
    code: 'try { echo("x".repeat(5e6)) } catch (error) { error.message }',
    mostCalls: 0,
    by: 'arguments have a longest length',
    ends: { value: 'the arguments are longer than 4194304 characters' },
  },
  'large arguments, one behind the other': {
    code: 'const one = "x".repeat(1e6); try { echo(...new Array(100).fill(one)) } catch (error) { error.message }',
    mostCalls: 0,
    by: 'arguments have a longest length',
    ends: { value: 'the arguments are longer than 4194304 characters' },
  },
  'large arguments of many calls at once': {
    code: 'const input = "x".repeat(4e6); parallel(new Array(100).fill({ tool: "echo", input })).length',
    mostCalls: 0,
    by: capped,
    ends: { error: /memory|too long/ },
  },
  'a large answer': {
    code: 'try { big() } catch (error) { error.message }',
    tools: { big: () => 'x'.repeat(5_000_000) },
    by: 'answers have a longest length',
    ends: { value: 'the answer is longer than 4194304 characters' },
  },
  'getters of arguments that call': {
    code: 'let deep = 0; const nested = () => ({ get a() { deep += 1; return echo(nested()) } }); echo(nested()); deep < 10000',
    mostCalls: 10_000,
    by: 'its stack is limited',
    ends: { value: true },
  },
  'a program that starts itself again by its tools': {
    code: 'const again = () => { try { return echo(1) } finally { again() } }; again()',
    limits: { calls: 50 },
    mostCalls: 50,
    by: calls,
    ends: { error: /./ },
  },
}

attack('a program that floods its host is bounded', { core: titled(floods), every: 2 }, async (attempt) =>
  expectBoxHolds(box, attempt),
)

const chance: Readonly<Record<string, Attempt>> = {
  chance: {
    code: 'Array.from({ length: 3 }, () => Math.floor(Math.random() * 1000))',
    seed: 42,
    by: 'it comes from the seed',
    ends: { value: [430, 27, 33] },
  },
  'chance of a constructor': {
    code: '[Math.constructor === Object, typeof crypto]',
    by: 'it comes from the seed',
    ends: { value: [true, 'undefined'] },
  },
  'the clock in all its forms': {
    code: `const other = class extends Date {}
      const ways = [Date.now(), +new Date(), +new other(), +Reflect.construct(Date, []), Date.parse(Date()), +new (new Date(0).constructor)(), +new (Object.getPrototypeOf(new Date(0)).constructor)()]
      const again = Date.now(); for (let i = 0; i < 1e5; i++) {}
      [new Set(ways).size, ways[0], again === Date.now()]`,
    now: 1_000_000_000_000,
    by: 'it shows what the host gives',
    ends: { value: [1, 1_000_000_000_000, true] },
  },
  'a clock that counts': {
    code: '[typeof performance, typeof setTimeout, typeof Intl, typeof Temporal, typeof SharedArrayBuffer, typeof Atomics]',
    by: 'there is none',
    ends: { value: ['undefined', 'undefined', 'undefined', 'undefined', 'undefined', 'undefined'] },
  },
  'the time zone': {
    code: 'const at = new Date(2026, 6, 1); [at.getTimezoneOffset(), at.toISOString(), String(at).slice(-8), at.toLocaleString()]',
    by: 'it is that of Greenwich',
    ends: { value: [0, '2026-07-01T00:00:00.000Z', 'GMT+0000', '07/01/2026, 12:00:00 AM'] },
  },
  'when objects are given up': {
    code: '[typeof WeakRef, typeof FinalizationRegistry]',
    by: 'nothing tells it',
    ends: { value: ['undefined', 'undefined'] },
  },
}

attack('a program sees the same whenever it runs', { core: titled(chance) }, async (attempt) =>
  expectBoxHolds(box, attempt),
)
