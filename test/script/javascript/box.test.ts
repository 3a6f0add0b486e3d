import { afterAll, describe, expect, it } from 'vitest'
import type { Json } from '../../../src/base/json.ts'
import { createJavaScriptBox } from '../../../src/script/javascript/box.ts'
import { type BoxCall, defaultLimits } from '../../../src/script/javascript/program.ts'
import { type Trial, tryProgram } from '../../helpers/try-program.ts'

const box = createJavaScriptBox()
afterAll(async () => box.close())

/** The value of a program that ends with one. */
async function valueOf(code: string, trial: Trial = {}): Promise<Json> {
  const end = await tryProgram(box, code, trial)
  if (end.kind === 'error') throw new Error(JSON.stringify(end))
  return end.value
}

async function errorOf(code: string, trial: Trial = {}) {
  const end = await tryProgram(box, code, trial)
  if (end.kind === 'value') throw new Error(`no error, but ${JSON.stringify(end.value)}`)
  return end
}

const tools = {
  add: (one: Json, other: Json) => Number(one) + Number(other),
  echo: (...args: readonly Json[]) => args,
  bad: () => {
    throw new Error('no such file')
  },
}

describe('the value of a program', () => {
  it.each<[string, Json]>([
    ['1+2', 3],
    ['const x=1; x+1', 2],
    ['const x=1;', null],
    ['typeof fetch', 'undefined'],
    ['[typeof require, typeof process, typeof setTimeout]', ['undefined', 'undefined', 'undefined']],
    ['await 1; 7', 7],
    ['return 5', 5],
    ['const x = await 2; if (x) return x; 3', 2],
    ['Promise.resolve(4)', 4],
    ['(async () => { await null; return 6 })()', 6],
    ['input.a', 1],
    ['```js\n1+1\n```', 2],
    ['~~~\n1+1\n~~~\n', 2],
    ['"```"', '```'],
    ['export default 42', { default: 42 }],
  ])('of %j is %j (TV32)', async (code, value) => {
    expect(await valueOf(code, { input: { a: 1 } })).toEqual(value)
  })

  it('is converted to JSON, and other values are described', async () => {
    const code = `async function f() {
      const around = {}
      around.self = around
      return [1n, Symbol('x'), () => 1, new Map([['a', 1]]), new Map([[1, 2]]), new Set([1]), NaN, undefined, around,
        new Date(0), /x/g, new TypeError('e'), new Uint8Array(2), Promise.resolve(1), { toJSON: () => 'own' },
        { get a() { throw new Error('g') }, b: undefined }]
    }
    f()`
    expect(await valueOf(code)).toEqual([
      '1',
      'Symbol(x)',
      '[function]',
      { a: 1 },
      [[1, 2]],
      [1],
      null,
      null,
      { self: '[circular]' },
      '1970-01-01T00:00:00.000Z',
      '/x/g',
      { name: 'TypeError', message: 'e' },
      [0, 0],
      '[promise]',
      'own',
      { a: '[error: g]' },
    ])
  })

  it('can be that of a module', async () => {
    expect(await valueOf('export const a = 1; export default await 2', { evalType: 'module' })).toEqual({
      a: 1,
      default: 2,
    })
    expect(await errorOf('await 1', { evalType: 'global' })).toMatchObject({ line: 1 })
    expect((await errorOf('import fs from "fs"')).message).toBe('there is no module "fs": a program is one file')
  })

  it('can be that of TypeScript', async () => {
    const code = `interface Point { readonly x: number }
      enum Size { small = 3 }
      class Box<T> { constructor(private readonly held: T) {} get(): T { return this.held } }
      const byName = new Map<string, Point>([['a', { x: 1 }]])
      const same = <T,>(value: T): T => value
      new Box<number>(4).get() + Size.small + byName.get('a')!.x + (same<number>(1) as number)`
    expect(await valueOf(code)).toBe(9)
    expect(await valueOf('function f<T>(x: T): T { return x }\nf<string>("x")')).toBe('x')
  })
})

describe('an error of a program', () => {
  it.each<[string, string, number | undefined, number | undefined]>([
    ['throw new Error("boom")', 'boom', 1, 10],
    ['foo()', "'foo' is not defined", 1, 1],
    ['const a = 1\n\n  a.b.c', "cannot read property 'c' of undefined", 3, 7],
    ['```js\nfoo()\n```', "'foo' is not defined", 1, 1],
    ['if (true) return foo()', "'foo' is not defined", 1, 18],
    ['interface A {\n  b: string\n}\nconst a: A = foo()', "'foo' is not defined", 4, undefined],
    ['await null\nfoo()', "'foo' is not defined", 2, 1],
    ['let x = {\n  a: 1\n  b: 2\n}', 'Unexpected token, expected ","', 3, 3],
    ['let a = ;', 'Unexpected token', 1, 9],
    ['const a = 1\nconst a = 2', 'invalid redefinition of lexical identifier', 2, undefined],
    ['throw "text"', 'text', undefined, undefined],
    ['throw { a: 1 }', '{"a":1}', undefined, undefined],
    ['Promise.reject(new Error("late"))', 'late', 1, 19],
    ['queueMicrotask(() => { throw new Error("job") })', 'job', 1, 33],
    ['await new Promise(() => {})', 'the program waits for a promise that never settles', undefined, undefined],
    ['new Promise(() => {})', 'the program waits for a promise that never settles', undefined, undefined],
    ['\nbad()', 'no such file', 2, 1],
  ])('of %j is %j (TV32)', async (code, message, line, column) => {
    const place = { ...(line === undefined ? {} : { line }), ...(column === undefined ? {} : { column }) }
    expect(await errorOf(code, { tools })).toEqual({ kind: 'error', message, ...place })
  })

  it('of a call can be caught', async () => {
    expect(await valueOf('try { bad() } catch (error) { error.message }', { tools })).toBe('no such file')
  })
})

describe('a call', () => {
  it('returns its value directly, with and without await', async () => {
    expect(await valueOf('[add(1, 2), await add(3, 4), await Promise.all([add(0, 1), add(1, 1)])]', { tools })).toEqual(
      [3, 7, [1, 2]],
    )
  })

  it('passes JSON in both directions', async () => {
    const code = 'echo({ list: [1, null, "ä\\u0000\\ud800"], at: new Date(0), none: undefined })'
    expect(await valueOf(code, { tools })).toEqual([{ list: [1, null, 'ä\0\ud800'], at: '1970-01-01T00:00:00.000Z' }])
  })

  it('can be one of several with parallel, which are issued before the first has ended', async () => {
    const issued: Json[] = []
    let release = (): void => {}
    const all = new Promise<void>((resolve) => (release = resolve))
    const wait = async (value: Json): Promise<Json> => {
      if (issued.push(value) === 3) release()
      await all
      return value
    }
    const code = `parallel([{ tool: 'wait', input: 1 }, { tool: 'bad' }, { tool: 'wait', input: 2 }, { tool: 'none' }, { tool: 'wait', input: 3 }])`
    expect(await valueOf(code, { tools: { wait, bad: tools.bad } })).toEqual([
      1,
      { error: 'no such file' },
      2,
      { error: 'there is no function "none"; there are: wait, bad' },
      3,
    ])
  })

  it('is numbered in the order of the program, and has the name by which it is called', async () => {
    const calls: BoxCall[] = []
    const functions = [
      { name: 'weatherGet', id: 'weather.get', waits: true },
      { name: 'a.b', waits: true },
      { name: 'output', waits: false },
      { name: 'tools.recall', id: 'recall', waits: true },
      { name: 'recall', waits: true },
    ]
    const host = {
      functions,
      call: async (call: BoxCall) => {
        calls.push(call)
        return { value: null }
      },
    }
    const code = `weatherGet({ city: 'Oslo' }); output('x'); tools['a.b'](); tools['weather.get']()
      parallel([{ tool: 'weather.get' }, { tool: 'weatherGet', input: 1 }, { tool: 'recall' }]); recall(); Object.keys(tools)`
    const { signal } = new AbortController()
    const end = await box.run({ code }, host, { limits: defaultLimits, seed: 1, now: 0, signal })
    expect(end).toEqual({ kind: 'value', value: ['weather.get', 'a.b', 'recall'] })
    expect(calls).toEqual([
      { name: 'weatherGet', index: 0, args: [{ city: 'Oslo' }] },
      { name: 'output', index: 1, args: ['x'] },
      { name: 'a.b', index: 1, args: [] },
      { name: 'weatherGet', index: 2, args: [] },
      { name: 'weatherGet', index: 3, args: [] },
      { name: 'weatherGet', index: 4, args: [1] },
      { name: 'tools.recall', index: 5, args: [] },
      { name: 'recall', index: 6, args: [] },
    ])
  })

  it('without await returns undefined, and ends before the run does', async () => {
    const seen: Json[] = []
    const output = async (text: Json): Promise<Json> => {
      await new Promise((resolve) => setTimeout(resolve, 20))
      seen.push(text)
      return 'not seen'
    }
    expect(await valueOf('[output("a"), output("b")].map((one) => typeof one)', { told: { output } })).toEqual([
      'undefined',
      'undefined',
    ])
    expect(seen).toEqual(['a', 'b'])
  })

  it('that is rejected stops the program, even if it would have caught the error', async () => {
    const stop = new Error('the run is suspended')
    for (const waits of [true, false]) {
      let calls = 0
      const call = async () => {
        calls += 1
        return Promise.reject(stop)
      }
      const host = { functions: [{ name: 'ask', waits }], call }
      const code = 'for (;;) try { ask() } catch {}'
      const { signal } = new AbortController()
      await expect(box.run({ code }, host, { limits: defaultLimits, seed: 1, now: 0, signal })).rejects.toBe(stop)
      if (waits) expect(calls).toBe(1)
    }
    expect(await valueOf('1')).toBe(1)
  })

  it('that is rejected is the reason why the program ended, also when it meets a limit before it is stopped', async () => {
    const stop = new Error('the run is suspended')
    let isAsked = false
    const call = async (): Promise<never> => {
      isAsked = true
      throw stop
    }
    const host = { functions: [{ name: 'ask', waits: true }], call }
    const { signal } = new AbortController()
    const limits = { ...defaultLimits, timeMs: 40 }
    // only ending its thread interrupts it
    const code = 'try { ask() } catch { new Array(2 ** 31).join("x") }'
    const trial = async (): Promise<unknown> =>
      box.run({ code }, host, { limits, seed: 1, now: 0, signal }).catch((error: unknown) => error)
    let end = await trial()
    // on a busy machine it may not reach its call
    while (!isAsked) end = await trial()
    expect(end).toBe(stop)
  })

  it('does not count towards the time of the program', async () => {
    const slow = async (): Promise<Json> => new Promise((resolve) => setTimeout(() => resolve('done'), 1200))
    expect(await valueOf('slow()', { tools: { slow }, limits: { timeMs: 1000 } })).toBe('done')
  })
})

describe('a program that is run again', () => {
  const code =
    'add(1, 2); [Math.random(), Math.random(), Date.now(), new Date(), Date(), new Date(2020, 5, 1).getTime()]'
  it('with the same seed and clock has the same result, and with another seed a different one', async () => {
    const first = await valueOf(code, { tools, seed: 7, now: 86_400_000 })
    expect(await valueOf(code, { tools, seed: 7, now: 86_400_000 })).toEqual(first)
    expect(first).toEqual([
      expect.any(Number),
      expect.any(Number),
      86_400_000,
      '1970-01-02T00:00:00.000Z',
      'Fri Jan 02 1970 00:00:00 GMT+0000',
      Date.UTC(2020, 5, 1),
    ])
    const [random] = first as readonly number[]
    expect(random).toBeGreaterThanOrEqual(0)
    expect(random).toBeLessThan(1)
    expect((await valueOf('Math.random()', { seed: 8 })) === random).toBe(false)
  })

  it('sees the time change only with its calls', async () => {
    const host = { functions: [{ name: 'ask', waits: true }], call: async () => ({ value: null, now: 5 }) }
    const { signal } = new AbortController()
    const program = { code: '[Date.now(), ask(), Date.now()]' }
    const end = await box.run(program, host, { limits: defaultLimits, seed: 1, now: 1, signal })
    expect(end).toEqual({ kind: 'value', value: [1, null, 5] })
  })
})

describe('a box', () => {
  it.each<[string, string, Trial]>([
    ['time', 'while (true) {}', { limits: { timeMs: 100 } }],
    ['time', 'try { while (true) {} } catch { 1 } finally { 2 }', { limits: { timeMs: 100 } }],
    ['time', 'for (;;) await null', { limits: { timeMs: 100 } }],
    ['time', 'new Array(2 ** 31).join("x")', { limits: { timeMs: 100 } }],
    ['memory', 'const all = []; for (;;) all.push(new Array(1000).fill(1))', {}],
    ['stack', 'function f() { f() } f()', {}],
    ['output', '"x".repeat(200)', { limits: { outputChars: 100 } }],
    ['arguments', 'for (let i = 0; i < 9; i++) echo("x".repeat(50))', { tools, limits: { argumentChars: 400 } }],
    [
      'arguments',
      'parallel(Array.from({ length: 9 }, () => ({ tool: "echo", input: "x".repeat(50) })))',
      { tools, limits: { argumentChars: 400 } },
    ],
    ['calls', 'for (let i = 0; i < 11; i++) add(i, 1)', { tools, limits: { calls: 10 } }],
  ])('names the limit of %s that %s exceeds, and stays usable', async (limit, code, trial) => {
    const end = await errorOf(code, trial)
    expect(end.limit).toBe(limit)
    if (limit === 'time') expect(end.message).toBe('the program took longer than 100 ms of its own time')
    expect(await valueOf('1 + 1')).toBe(2)
  })

  it('keeps no data of one program for the next', async () => {
    await valueOf('globalThis.leak = 1; Object.prototype.leak = 2; Math.random = () => 3; 0')
    expect(await valueOf('[typeof leak, typeof ({}).leak, Math.random() === 3]')).toEqual([
      'undefined',
      'undefined',
      false,
    ])
  })

  it('runs programs at the same time, and one within a call of another', async () => {
    const inner = async (): Promise<Json> => valueOf('add(1, 1)', { tools })
    expect(await Promise.all([valueOf('inner() + 1', { tools: { inner } }), valueOf('1')])).toEqual([3, 1])
  })

  it('stops with its signal, while it works and while it waits', async () => {
    const never = async (): Promise<Json> => new Promise(() => {})
    for (const code of ['for (;;) {}', 'never()']) {
      const controller = new AbortController()
      setTimeout(() => controller.abort(new Error('stopped')), 50)
      await expect(valueOf(code, { tools: { never }, signal: controller.signal })).rejects.toThrow('stopped')
    }
    expect(await valueOf('2')).toBe(2)
  })

  it('ends running programs when it is closed, and runs no more', async () => {
    const other = createJavaScriptBox()
    const run = tryProgram(other, 'for (;;) {}')
    const failed = expect(run).rejects.toThrow('the JavaScript box was closed')
    await other.close()
    await failed
    await expect(tryProgram(other, '1')).rejects.toThrow('the JavaScript box was closed')
  })
})
