import { execFileSync } from 'node:child_process'
import { figure, interleave, quotients } from './rounds.mjs'

const limits = { timeMs: 600_000, instructions: 1e9, memoryBytes: 1024 * 1024 * 1024 }

/** Five computing scripts. `n` is the amount of work; each returns a number that must be the same on all engines. */
const scripts = {
  'fib, function calls': {
    n: 24,
    small: 8,
    text: `
      local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
      return fib(n)`,
  },
  'building strings': {
    n: 40_000,
    small: 50,
    text: `
      local parts = {}
      for i = 1, n do parts[#parts + 1] = ('%d: %s'):format(i, ('ab'):rep(i % 7)) .. ';' end
      local text = table.concat(parts, '\\n')
      return #text + #text:upper():reverse()`,
  },
  patterns: {
    n: 4_000,
    small: 20,
    text: `
      local line = '  name_12 = "some value", key = [42], -- and a comment  '
      local count = 0
      for i = 1, n do
        for word in line:gmatch('[%a_][%w_]*') do count = count + #word end
        local trimmed = line:match('^%s*(.-)%s*$')
        local replaced, hits = trimmed:gsub('%d+', '#')
        count = count + #replaced + hits + line:find('-- ', 1, true)
      end
      return count`,
  },
  'sorting tables': {
    n: 20_000,
    small: 50,
    text: `
      local seed, list = 1, {}
      for i = 1, n do
        seed = (seed * 137 + 29) % 65536
        list[i] = { key = seed, name = 'k' .. seed }
      end
      table.sort(list, function(a, b) return a.key < b.key end)
      local names = {}
      for i = 1, n do names[i] = list[i].name end
      table.sort(names)
      local sum = 0
      for i = 1, n do sum = (sum * 3 + list[i].key + #names[i]) % 65536 end
      return sum`,
  },
  'JSON in Lua': {
    n: 1_200,
    small: 4,
    text: `
      local encode
      local function quote(text)
        return '"' .. text:gsub('["\\\\]', '\\\\%0') .. '"'
      end
      function encode(value)
        if type(value) ~= 'table' then return type(value) == 'string' and quote(value) or tostring(value) end
        local parts = {}
        if #value > 0 then
          for i = 1, #value do parts[i] = encode(value[i]) end
          return '[' .. table.concat(parts, ',') .. ']'
        end
        local keys = {}
        for key in next, value do keys[#keys + 1] = key end
        table.sort(keys)
        for i = 1, #keys do parts[i] = quote(keys[i]) .. ':' .. encode(value[keys[i]]) end
        return '{' .. table.concat(parts, ',') .. '}'
      end
      local decode
      function decode(text, at)
        local mark = text:sub(at, at)
        if mark == '"' then
          local last = at
          repeat last = text:find('"', last + 1, true) until text:byte(last - 1) ~= 92
          return (text:sub(at + 1, last - 1):gsub('\\\\(.)', '%1')), last + 1
        elseif mark == '[' then
          local list = {}
          at = at + 1
          while text:sub(at, at) ~= ']' do
            list[#list + 1], at = decode(text, at)
            if text:sub(at, at) == ',' then at = at + 1 end
          end
          return list, at + 1
        elseif mark == '{' then
          local object, key = {}, nil
          at = at + 1
          while text:sub(at, at) ~= '}' do
            key, at = decode(text, at)
            object[key], at = decode(text, at + 1)
            if text:sub(at, at) == ',' then at = at + 1 end
          end
          return object, at + 1
        end
        local word, last = text:match('^([^,%]}]+)()', at)
        if word == 'true' or word == 'false' then return word == 'true', last end
        return tonumber(word), last
      end
      local data = {}
      for i = 1, n do
        data[i] = { id = i, name = 'item "' .. i .. '"', tags = { 'a', 'b', tostring(i) }, ok = i % 2 == 0, at = { x = i, y = 2 } }
      end
      local text = encode(data)
      local again = encode((decode(text, 1)))
      return text == again and #text or -1`,
  },
}

/**
 * How fast Lua itself runs: five scripts on both engines, and against the system's `lua5.4` if it exists. States are
 * created beforehand. The scripts cover what differs between engines: calls, strings, patterns, tables, and all of
 * these together.
 */
export async function cpu({ library, small }) {
  const native = nativeLua()
  if (native === undefined)
    console.error('cpu: lua5.4 is not installed, so the engines are only compared with each other')
  const { loadLua54 } = await import(`${library}/script/lua54/engine.js`)
  const { loadFengari } = await import(`${library}/script/fengari/engine.js`)
  const engines = { lua54: await loadLua54(), fengari: await loadFengari() }

  const figures = []
  for (const [name, script] of Object.entries(scripts)) {
    const text = `local n = ${small ? script.small : script.n}\n${script.text}`
    const results = new Set()
    const cases = {
      lua54: async () => timeEngine(engines.lua54, text, results),
      fengari: async () => timeEngine(engines.fengari, text, results),
      ...(native === undefined ? {} : { native: async () => timeNative(native, text, results) }),
    }
    const times = await interleave(cases, small ? 1 : 7)
    if (results.size !== 1) throw new Error(`${name} returns ${[...results].join(' and ')}`)
    figures.push(figure(`${name}: fengari`, { of: 'lua54', ratios: quotients(times.fengari, times.lua54) }))
    if (native === undefined) continue
    figures.push(figure(`${name}: lua54`, { of: 'lua5.4 of the system', ratios: quotients(times.lua54, times.native) }))
    figures.push(
      figure(`${name}: fengari`, { of: 'lua5.4 of the system', ratios: quotients(times.fengari, times.native) }),
    )
  }
  return figures
}

async function timeEngine(engine, text, results) {
  const state = engine.createState({ functions: [], modules: [], limits, seed: () => 1 })
  try {
    const started = performance.now()
    const [value] = await state.run({ name: 'cpu', text }, {}, new AbortController().signal)
    results.add(value)
    return performance.now() - started
  } finally {
    state.close()
  }
}

/** The time of the script itself, without starting the program. */
function timeNative(command, text, results) {
  const script = `local run = function() ${text}\nend local at = os.clock() local value = run() print(os.clock() - at, value)`
  const [seconds, value] = execFileSync(command, ['-'], { input: script, encoding: 'utf8' }).trim().split('\t')
  results.add(Number(value))
  return Number(seconds) * 1000
}

function nativeLua() {
  try {
    execFileSync('lua5.4', ['-v'], { stdio: 'ignore' })
    return 'lua5.4'
  } catch {
    return undefined
  }
}
