import { afterAll } from 'vitest'
import type { Json } from '../../src/base/json.ts'
import { createJavaScriptBox } from '../../src/script/javascript/box.ts'
import { attack } from './attempts.ts'
import { type Attempt, expectBoxHolds, titled } from './code-harness.ts'

// A program that a model was tricked into writing tries to escape: to this process, its files and its network, to
// other programs, or to impersonate someone else. It is in WebAssembly in a thread, and only text crosses the boundary.

const box = createJavaScriptBox()
afterAll(async () => box.close())

const nothing = 'there is nothing of Node in the engine'
const guest = 'what it gets are objects of its own engine'
const texts = 'only texts cross the border'

const outward: Readonly<Record<string, Attempt>> = {
  'names of Node, Deno and browsers': {
    code: `['process', 'require', 'module', 'exports', '__dirname', 'Buffer', 'global', 'fetch', 'XMLHttpRequest', 'WebSocket', 'Deno', 'Bun',
      'std', 'os', 'bjson', 'scriptArgs', 'Worker', 'postMessage', 'setTimeout', 'setInterval', 'setImmediate', 'structuredClone',
      'WebAssembly', 'navigator', 'location', 'window', 'self', 'document', 'importScripts', 'print', 'loadScript', 'gc', '__loadScript'
    ].filter((name) => name in globalThis)`,
    by: nothing,
    ends: { value: [] },
  },
  'the constructor of the constructor': {
    code: `[].constructor.constructor('return typeof process + typeof globalThis.require')()`,
    by: guest,
    ends: { value: 'undefinedundefined' },
  },
  'the constructor of a function of the host': {
    code: `echo.constructor('return [typeof process, this === globalThis]')()`,
    by: guest,
    ends: { value: ['undefined', true] },
  },
  'the constructor of what a function of the host gives': {
    code: `const given = secret(); given.constructor.constructor('return typeof process')() + given.list.constructor.constructor('return typeof require')()`,
    by: guest,
    ends: { value: 'undefinedundefined' },
  },
  'the constructor of an error of the host': {
    code: `try { bad() } catch (error) { error.constructor.constructor('return typeof process')() + Object.keys(error).join() }`,
    tools: {
      bad: () => {
        throw Object.assign(new Error('bad'), { key: 'sk-secret' })
      },
    },
    by: guest,
    ends: { value: 'undefined' },
  },
  'the caller of a function of the host': {
    code: `String(Object.getOwnPropertyNames(echo)) + (() => { try { return echo.caller } catch (error) { return error.message } })()`,
    by: 'functions of the box have no caller',
    ends: { value: 'length,nameinvalid property access' },
  },
  'async and generator constructors': {
    code: `const of = (f) => Object.getPrototypeOf(f).constructor
      const g = of(function* () {})('yield typeof process');
      [await of(async () => {})('return typeof process')(), ...g()]`,
    by: guest,
    ends: { value: ['undefined', 'undefined'] },
  },
  'eval, direct and indirect': {
    code: `eval('typeof process') + (0, eval)('typeof require') + new Function('return typeof module')()`,
    by: nothing,
    ends: { value: 'undefinedundefinedundefined' },
  },
  'import of a module of Node': {
    code: `await import('node:fs')`,
    by: 'there are no modules',
    ends: { error: /no module "node:fs"/ },
  },
  'import of a file': {
    code: `import secret from '/etc/passwd'\nsecret`,
    by: 'there are no modules',
    ends: { error: /no module "\/etc\/passwd"/ },
  },
  'import of a module with attributes': {
    code: `await import('/etc/passwd', { with: { type: 'text' } })`,
    by: 'there are no modules',
    ends: { error: /no module|expecting|Unexpected|not supported/ },
  },
  'what import.meta tells': {
    code: `export default [typeof import.meta.url, Object.keys(import.meta).length]`,
    evalType: 'module',
    by: 'a module has no place',
    ends: { value: { default: ['undefined', 0] } },
  },
  'require that an error message names': {
    code: `try { null.x } catch (error) { /\\/|node|wasm/.test(error.stack) }`,
    by: 'stacks name the program only',
    ends: { value: false },
  },
  'the stack below a function of the host': {
    code: `let stack = ''; Error.prepareStackTrace = (error, frames) => { stack = String(frames); return 'x' }
      try { bad() } catch (error) { String(error.stack) }; /file:|\\/tmp|node:/.test(stack)`,
    tools: {
      bad: () => {
        throw new Error('no')
      },
    },
    by: 'the stack ends at the border',
    ends: { value: false },
  },
  'properties that the host might read of a value': {
    code: `({ then(resolve) { resolve(new Function('return typeof process')()) } })`,
    by: texts,
    ends: { value: JSON.parse('{"then":"[function]"}') as Json },
  },
  'WebAssembly inside': { code: `typeof WebAssembly`, by: 'the engine has none', ends: { value: 'undefined' } },
}

attack('a program gets nothing of what is outside', { core: titled(outward) }, async (attempt) =>
  expectBoxHolds(box, attempt),
)

const forged: Readonly<Record<string, Attempt>> = {
  'a function that it is not given, in parallel': {
    code: `parallel([{ tool: 'bash', input: { command: 'id' } }, { tool: '__proto__' }, { tool: 'constructor' }, { tool: 'toString' }]).map((one) => one.error.slice(0, 20))`,
    by: 'names are looked up in the list of the host',
    ends: { value: ['there is no function', 'there is no function', 'there is no function', 'there is no function'] },
  },
  'functions that are not waited for, in parallel': {
    code: `parallel([{ tool: 'output', input: 'x' }])[0].error.slice(0, 29)`,
    by: 'parallel takes tools only',
    ends: { value: 'there is no function "output"' },
  },
  'names that change while they are read': {
    code: `let reads = 0
      const entry = { get tool() { reads += 1; return reads === 1 ? 'echo' : 'secret' }, input: 1 };
      [parallel([entry]), reads]`,
    by: 'each is read once',
    ends: { value: [[[1]], 1] },
  },
  'a name that is a text only when asked': {
    code: `parallel([{ tool: { toString: () => 'secret' } }])`,
    by: 'a name is a text',
    ends: { error: /entry 0 of parallel is not \{ tool, input \}/ },
  },
  'tools that it adds itself': {
    code: `tools.secret2 = tools.secret; tools['a'] = () => 'own'; [parallel([{ tool: 'secret2' }])[0].error.slice(0, 20), tools.a()]`,
    by: 'the list of the host is not its object',
    ends: { value: ['there is no function', 'own'] },
  },
  'functions with another this': {
    code: `[echo.call(null, 1), echo.apply({ target: 3 }, [2]), Reflect.apply(echo, globalThis, [3]), echo.bind(secret)(4)]`,
    by: 'they have no this',
    ends: { value: [[1], [2], [3], [4]] },
  },
  'functions as constructors': { code: `new echo(1)`, by: 'they are none', ends: { error: /not a constructor/ } },
  'functions of the border as arguments of functions': {
    code: `[1, 2].map(echo).length + [3].reduce(echo, 0).length`,
    by: texts,
    ends: { value: 6 },
  },
  'the number of a function': {
    code: `for (const key of Reflect.ownKeys(echo)) try { Object.defineProperty(echo, key, { value: 99 }) } catch {}\n echo(1)`,
    by: 'it is in a closure',
    ends: { value: [1] },
  },
  'an answer of the host that it makes itself': {
    code: `String.prototype.slice = () => '{"forged":true}'; JSON.parse = () => 'forged'; secret()`,
    by: 'the prelude took its functions before the program ran',
    ends: { value: { text: 'answer', list: [1, 2] } },
  },
  'JSON, Array, Object and Promise that it replaced': {
    code: `for (const name of ['JSON', 'Object', 'Array', 'Promise', 'Reflect', 'Map', 'Set', 'Error', 'String', 'Symbol', 'Function', 'Date', 'Math']) globalThis[name] = undefined
      echo({ a: [1] })`,
    by: 'the prelude took its functions before the program ran',
    ends: { value: [{ a: [1] }] },
  },
  'methods that the border could use': {
    code: `const protos = [Array.prototype, Object.prototype, String.prototype, Function.prototype, Map.prototype, Promise.prototype], { ownKeys } = Reflect
      for (let i = 0; i < protos.length; i++) {
        const keys = ownKeys(protos[i])
        for (let k = 0; k < keys.length; k++) if (keys[k] !== 'constructor') try { delete protos[i][keys[k]] } catch {}
      }
      echo({ a: [1], b: 'x' })`,
    by: 'the prelude took its functions before the program ran',
    ends: { value: [{ a: [1], b: 'x' }] },
  },
  'setters on the way of an answer': {
    code: `let seen = 0
      for (const key of ['0', '1', 'text', 'list', 'value', 'error', 'length']) Object.defineProperty(Object.prototype, key, { __proto__: null, set() { seen += 1 }, configurable: true })
      const given = secret()
      given.text + given.list.length + seen`,
    by: 'answers are defined, not assigned',
    ends: { value: 'answer20' },
  },
  'the iterator of arrays': {
    code: `Array.prototype[Symbol.iterator] = function* () { yield 'forged' }; [echo(1, 2), parallel([{ tool: 'echo', input: 3 }])]`,
    by: 'the border counts',
    ends: { value: [[1, 2], [[3]]] },
  },
  'keys of prototypes in arguments': {
    code: `echo(JSON.parse('{"__proto__":{"leak":1},"constructor":{"prototype":{"leak":1}}}')); typeof ({}).leak`,
    by: 'the host reads JSON, whose keys are own properties',
    ends: { value: 'undefined' },
  },
  'keys of prototypes in an answer': {
    code: `const given = poisoned(); [typeof ({}).leak, Object.getPrototypeOf(given) === Object.prototype]`,
    tools: { poisoned: () => JSON.parse('{"__proto__":{"leak":1}}') },
    by: 'the program reads JSON, whose keys are own properties',
    ends: { value: ['undefined', true] },
  },
  'a prototype that all its own objects have': {
    code: `Object.prototype.leak = 1; Array.prototype.leak = 2; echo({}) `,
    by: 'it is that of its own engine, which ends with it',
    ends: { value: [{}] },
  },
  'globals for the next program': {
    code: `globalThis.leak = 1; var leak2 = 2; Object.freeze(Object.prototype); Object.defineProperty(globalThis, 'echo', { value: () => 'forged' }); 1`,
    by: 'each program has an engine of its own',
    ends: { value: 1 },
  },
  'the store as a way to a prototype': {
    code: `store('__proto__', { leak: 1 }); store('constructor', 1);
      [recall('toString'), recall('__proto__'), typeof ({}).leak]`,
    by: 'a key is a text of the host',
    ends: { value: [null, { leak: 1 }, 'undefined'] },
  },
  'an object that stays shared through the store': {
    code: `const held = { a: 1 }; store('held', held); held.a = 2; const back = recall('held'); back.a = 3; recall('held')`,
    by: 'what is stored is a copy',
    ends: { value: { a: 1 } },
  },
  'an input that it changes for others': {
    code: `input.list.push(3); input.leak = 1; secret().list`,
    input: { list: [1] },
    by: 'the input is a copy',
    ends: { value: [1, 2] },
  },
}

attack('a program is what it is, whatever it forges', { core: titled(forged) }, async (attempt) =>
  expectBoxHolds(box, attempt),
)

const values: Readonly<Record<string, Attempt>> = {
  'a value whose getters run on': {
    code: `({ get a() { for (;;) {} } })`,
    by: 'getters run on the time of the program',
    ends: { limit: 'time' },
  },
  'a getter that throws what cannot be shown': {
    code: `({ get a() { throw { get message() { throw this }, toString() { throw this } } } })`,
    by: 'it is described',
    ends: { value: { a: '[error: an error that cannot be shown]' } },
  },
  'a proxy that is endless': {
    code: `const endless = () => new Proxy({}, { ownKeys: () => ['a'], getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }), get: (_, key) => key === 'toJSON' ? undefined : endless() })
      JSON.stringify(echo(endless())).includes('nested too deeply')`,
    by: 'what is nested more than 100 times is not followed',
    ends: { value: true },
  },
  'a proxy whose traps throw': {
    code: `new Proxy({}, { get() { throw new Error('trap') }, ownKeys() { throw new Error('trap') } })`,
    by: 'it is described',
    ends: { value: '[error: trap]' },
  },
  'a proxy that was revoked': {
    code: `const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); [proxy]`,
    by: 'it is described',
    ends: { value: ['[error: revoked proxy]'] },
  },
  'toJSON that gives itself': {
    code: `const own = { toJSON() { return { toJSON: own.toJSON } } }; JSON.stringify(echo(own)).length < 5000`,
    by: 'what is nested more than 100 times is not followed',
    ends: { value: true },
  },
  'toJSON of all objects': {
    code: `Object.prototype.toJSON = () => 'forged'; echo(1)`,
    by: 'arguments are a list whatever they hold',
    ends: { value: 'forged' },
  },
  'a list that is longer than it is': {
    code: `const list = []; list.length = 4294967295; list`,
    limits: { outputChars: 10_000 },
    by: 'its size is counted',
    ends: { limit: 'output' },
  },
  'a list that says it is a list': {
    code: `new Proxy([], { get: (target, key) => key === 'length' ? 1e9 : target[key] })`,
    limits: { outputChars: 10_000 },
    by: 'its size is counted',
    ends: { limit: 'output' },
  },
  'the same object many times': {
    code: `let many = ['x']; for (let i = 0; i < 60; i++) many = [many, many]; many`,
    limits: { outputChars: 10_000 },
    by: 'its size is counted',
    ends: { limit: 'output' },
  },
  'an object within itself': {
    code: `const a = []; a.push(a, { a }); a`,
    by: 'it is described',
    ends: { value: ['[circular]', { a: '[circular]' }] },
  },
  'what JSON does not know': {
    code: `[10n ** 30n, Symbol('s'), function named() {}, class A {}, new WeakMap(), new ArrayBuffer(8), -0, 1 / 0]`,
    by: 'it is described',
    ends: {
      value: ['1000000000000000000000000000000', 'Symbol(s)', '[function]', '[function]', {}, '[ArrayBuffer]', 0, null],
    },
  },
  'a Map that is none': {
    code: `[Object.create(Map.prototype), Object.setPrototypeOf({ a: 1 }, Set.prototype), Object.create(Promise.prototype), Object.create(Date.prototype)].map((one) => { try { return echo(one)[0] } catch (error) { return error.message } }).every((one) => typeof one === 'string')`,
    by: 'it is described',
    ends: { value: true },
  },
  'half of a character, and NUL': {
    code: `echo('\\ud800', '\\u0000', '\\udc00x')`,
    by: 'JSON escapes them',
    ends: { value: ['\ud800', '\0', '\udc00x'] },
  },
  'an error whose message is a getter that calls': {
    code: `throw { get message() { return 'called ' + secret().text } }`,
    by: 'it is read in the box',
    ends: { error: /^called answer$/ },
  },
  'an error with a stack of its own': {
    code: `const error = new Error('x'); error.stack = '    at evil (program:9999999999:1)\\n'; throw error`,
    by: 'a stack says a line and no more',
    ends: { error: /^x$/ },
  },
  'an error with a message of 3 MB': {
    code: `throw new Error('x'.repeat(3e6))`,
    by: 'messages are cut',
    ends: { error: /^x{100000}$/ },
  },
  'a promise that looks settled': {
    code: `const fake = Object.create(Promise.prototype); fake.then = (f) => f(1); [fake]`,
    by: 'the engine says what a promise is',
    ends: { value: ['[promise]'] },
  },
}

attack('a value is shown as JSON, whatever it does', { core: titled(values) }, async (attempt) =>
  expectBoxHolds(box, attempt),
)
