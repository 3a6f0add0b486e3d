import { describe, expect, it } from 'vitest'
import { loadFengari } from '../../src/script/fengari/engine.ts'
import { floatText } from '../../src/script/fengari/number-text.ts'
import { describeLuaEngine, failLua, hostFunction, openState, runLua } from '../contract/lua-engine.ts'

const shared = loadFengari()
describeLuaEngine('fengari', async () => shared)

describe('text', () => {
  it('is compared, sorted and used as a key by its bytes', async () => {
    const text = `
      local keys = { ['\\t\\t'] = 1, ['\\x99'] = 2, ['\\x01\\x02'] = 3, ['\\x12'] = 4 }
      local sorted = { 'b', 'a\\nb', 'ab', 'a\\tz', 'a\\rq', '', '\\0', '\\0\\0', 'ü', 'a' }
      table.sort(sorted)
      for index, item in ipairs(sorted) do sorted[index] = ('%q'):format(item) end
      return keys['\\t\\t'], keys['\\x99'], keys['\\x01\\x02'], keys['\\x12'], '\\t\\t' == '\\x99', table.concat(sorted, ' ')`
    const expected = '"" "\\0" "\\0\\0" "a" "a\\9z" "a\\\nb" "a\\13q" "ab" "b" "ü"'
    expect(await runLua(await shared, text)).toEqual([1, 2, 3, 4, false, expected])
  })

  it('keeps every pair of bytes distinct', async () => {
    const text = `
      local seen, count = {}, 0
      for first = 0, 255 do
        for second = 0, 255 do
          local key = string.char(first, second)
          if seen[key] then return key end
          seen[key] = true
          count = count + 1
        end
      end
      return count`
    expect(await runLua(await shared, text)).toEqual([65_536])
  })

  it('orders every two bytes numerically', async () => {
    const text = `
      for first = 0, 255 do
        for second = 0, 255, 5 do
          local a, b = string.char(65, first, 66), string.char(65, second)
          if (a < b) ~= (first < second) then return first, second end
        end
      end
      return 'ordered'`
    expect(await runLua(await shared, text)).toEqual(['ordered'])
  })
})

describe('text of numbers', () => {
  it.each([
    [0.1, '0.1'],
    [-0, '-0.0'],
    [0, '0.0'],
    [4, '4.0'],
    [-2_147_483_648, '-2147483648.0'],
    [2_147_483_648, '2147483648'],
    [-2_147_483_649, '-2147483649'],
    [1_795_295_204_543_455, '1795295204543455'],
    [2 ** 53 - 1, '9007199254740991'],
    [2 ** 53, '9.007199254741e+15'],
    [1e100, '1e+100'],
    [1e-5, '1e-05'],
    [1e-4, '0.0001'],
    [1 / 3, '0.33333333333333'],
    [123_456.789, '123456.789'],
    [5e-324, '4.9406564584125e-324'],
    [1.797_693_134_862_315_7e308, '1.7976931348623e+308'],
    [Infinity, 'inf'],
    [-Infinity, '-inf'],
    [NaN, 'nan'],
  ])('%d is %s', (value, text) => {
    expect(floatText(value)).toBe(text)
  })

  it('is the same in tostring, in concatenation and as a host value', async () => {
    const variables = { time: 1_795_295_204_543_455, small: 7, half: 1.5 }
    const text =
      'return tostring(time), time .. "", table.concat({time, small, half}, " "), ("%d"):format(time), time + 1'
    expect(await runLua(await shared, text, { variables })).toEqual([
      '1795295204543455',
      '1795295204543455',
      '1795295204543455 7 1.5',
      '1795295204543455',
      1_795_295_204_543_456,
    ])
  })
})

describe('integers from outside', () => {
  it.each([
    [2_147_483_647, 'integer'],
    [-2_147_483_648, 'integer'],
    [2_147_483_648, 'float'],
    [-2_147_483_649, 'float'],
    [2n ** 40n, 'float'],
    [2n ** 63n - 1n, 'float'],
  ])('%s becomes an %s and is unchanged after a round trip', async (value, type) => {
    const values = await runLua(await shared, 'return value, math.type(value), {value}', { variables: { value } })
    expect(values).toEqual([Number(value), type, [Number(value)]])
  })

  it('are exact as numbers and keys up to 2^53', async () => {
    const variables = { one: 2 ** 53 - 1, two: 2 ** 53 - 2 }
    const text =
      'local t = {[one] = "x"} return one > two, one == two, t[one], t[two], one % 10, math.max(one, two) == one'
    expect(await runLua(await shared, text, { variables })).toEqual([true, false, 'x', undefined, 1, true])
  })
})

describe('string.format', () => {
  it.each([
    ['("%d %i"):format(3, -4)', '3 -4'],
    ['("%d"):format("12")', '12'],
    ['("%d"):format(2.0)', '2'],
    ['("%5d|%-5d|%05d|%+d|% d"):format(42, 42, 42, 42, 42)', '   42|42   |00042|+42| 42'],
    ['("%.3d|%5.3d"):format(7, -7)', '007| -007'],
    ['("%x %X %#x %o"):format(255, 255, 255, 8)', 'ff FF 0xff 10'],
    ['("%x"):format(-1)', 'ffffffffffffffff'],
    ['("%08.3f|%-8.2f|%+.1f"):format(3.14159, 2.5, 1)', '0003.142|2.50    |+1.0'],
    ['("%.0f %f"):format(0.5, 1e21)', '0 1000000000000000000000.000000'],
    ['("%.0f %.0f %.0f %.2f %.1f"):format(1.5, 2.5, 3.5, 0.125, 0.25)', '2 2 4 0.12 0.2'],
    ['("%g %.0e %.2e"):format(1234565, 2.5, 1.125)', '1.23456e+06 2e+00 1.12e+00'],
    ['("%e %.2E"):format(12345.678, 0.00012)', '1.234568e+04 1.20E-04'],
    ['("%g %g %g %g"):format(1e20, 0.0001, 100000, 1e-5)', '1e+20 0.0001 100000 1e-05'],
    ['("%.3g|%#.3g|%G"):format(2, 2, 1e-10)', '2|2.00|1E-10'],
    ['("%.14g"):format(3.14159265358979)', '3.1415926535898'],
    ['("%a %a %a"):format(1, 0.5, -10)', '0x1p+0 0x1p-1 -0x1.4p+3'],
    ['("%5.1f|%f"):format(1/0, -1/0)', '  inf|-inf'],
    ['("%c%c"):format(72, 105)', 'Hi'],
    ['("%s %s %s"):format(nil, true, 12)', 'nil true 12'],
    ['("%5s|%-5s|%.2s"):format("ab", "ab", "abc")', '   ab|ab   |ab'],
    ['("%s"):format(setmetatable({}, {__tostring = function() return "shown" end}))', 'shown'],
    ['("%q"):format("a\\n\\"b\\"\\\\ \\0001\\r")', '"a\\\n\\"b\\"\\\\ \\0001\\13"'],
    ['("%q %q %q"):format(1, 1/0, nil)', '1 1e9999 nil'],
    ['("100%%"):format()', '100%'],
    ['("%s"):format("grüße 🙂")', 'grüße 🙂'],
  ])('formats like C: %s', async (text, expected) => {
    expect(await runLua(await shared, `return ${text}`)).toEqual([expected])
  })

  it.each([
    ['("%d"):format(1.5)', "bad argument #1 to 'format' (number has no integer representation)"],
    ['string.format("%d", "x")', "bad argument #2 to 'format' (number expected, got string)"],
    ['string.format("%d")', "bad argument #2 to 'format' (number expected, got no value)"],
    ['string.format()', "bad argument #1 to 'format' (string expected, got no value)"],
    ['string.format("%y", 1)', "invalid conversion '%y' to 'format'"],
    ['string.format("%", 1)', "invalid conversion '%' to 'format'"],
    ['string.format("%123d", 1)', "invalid conversion '%123d' to 'format'"],
    ['string.format("%q", {})', "bad argument #2 to 'format' (value has no literal form)"],
  ])('refuses %s', async (text, message) => {
    expect(await failLua(await shared, `\nreturn ${text}`)).toMatchObject({ message, line: 2 })
  })
})

describe('string.rep', () => {
  it.each([
    ['("ab"):rep(3)', 'ababab'],
    ['("ab"):rep(3, ", ")', 'ab, ab, ab'],
    ['("ab"):rep(1, ", ")', 'ab'],
    ['("ab"):rep(0)', ''],
    ['("ab"):rep(-5, "x")', ''],
    ['(""):rep(1000000)', ''],
    ['(""):rep(3, "-")', '--'],
    ['(12):rep(2.0)', '1212'],
    ['("ü\\0"):rep(2)', 'ü\0ü\0'],
  ])('repeats: %s', async (text, expected) => {
    expect(await runLua(await shared, `return ${text.replace('(12):rep(', 'string.rep(12, ')}`)).toEqual([expected])
  })

  it.each(['string.rep()', 'string.rep("x")', 'string.rep("x", 1.5)', 'string.rep({}, 1)', 'string.rep("x", 2, {})'])(
    'refuses %s',
    async (text) => {
      expect(await failLua(await shared, `return ${text}`)).toMatchObject({
        message: expect.stringContaining("to 'rep'"),
      })
    },
  )
})

describe('math.random', () => {
  it('stays in its range and returns integers for integer ranges', async () => {
    const text = `
      for _ = 1, 2000 do
        local part, die, wide = math.random(), math.random(6), math.random(-2147483648, 2147483647)
        if part < 0 or part >= 1 or math.type(part) ~= 'float' then return part end
        if die < 1 or die > 6 or math.type(die) ~= 'integer' then return die end
        if math.type(wide) ~= 'integer' then return wide end
      end
      return 'fine', math.random(3, 3), math.type(math.random(0)), (pcall(math.random, 0, -1)), (pcall(math.random, 1.5))`
    expect(await runLua(await shared, text)).toEqual(['fine', 3, 'integer', false, false])
  })

  it('is independent of other states', async () => {
    const engine = await shared
    const draws = 'local t = {} for i = 1, 5 do t[i] = math.random(1000000) wait() end return t'
    const alone = await runLua(engine, draws)
    const together = await Promise.all([runLua(engine, draws), runLua(engine, draws), runLua(engine, draws)])
    expect(together).toEqual([alone, alone, alone])
  })
})

describe('the state', () => {
  it('passes values nested 500 levels deep through its small native stack', async () => {
    const text = `
      local value = 'end'
      for _ = 1, 500 do value = { next = value } end
      return host.echo(value)`
    let expected: object | string = 'end'
    for (let level = 0; level < 500; level++) expected = { next: expected }
    expect(await runLua(await shared, text)).toEqual([expected])
  })

  it('rejects further runs after a limit, and after it was closed', async () => {
    const state = openState(await shared, { limits: { instructions: 10 } })
    const { signal } = new AbortController()
    const chunk = { name: 'x', text: 'while true do end' }
    await expect(state.run(chunk, {}, signal)).rejects.toMatchObject({ limit: 'instructions' })
    await expect(state.run({ name: 'x', text: 'return 1' }, {}, signal)).rejects.toMatchObject({
      limit: 'instructions',
    })
    state.close()
    await expect(state.run({ name: 'x', text: 'return 1' }, {}, signal)).rejects.toThrow('closed')
  })

  it('applies its limits to all runs together', async () => {
    const state = openState(await shared, { limits: { instructions: 1_000 } })
    const { signal } = new AbortController()
    const runOften = async (): Promise<void> => {
      for (let run = 0; run < 10; run++) await state.run({ name: 'x', text: 'for i = 1, 300000 do end' }, {}, signal)
    }
    await expect(runOften()).rejects.toMatchObject({ limit: 'instructions' })
    state.close()
  })

  it('reports an exception inside the interpreter as an error that pcall can catch', async () => {
    const holder: { depth: number } = { depth: 0 }
    const recurse = hostFunction('recurse', (values) => {
      const dig = (): number => 1 + (holder.depth >= 0 ? dig() : 0)
      return [dig(), ...values]
    })
    const [ok, message] = await runLua(await shared, 'return pcall(recurse)', { functions: [recurse] })
    expect([ok, message]).toEqual([false, expect.stringContaining('call stack')])
  })

  it('can be loaded twice', async () => {
    const [first, second] = await Promise.all([loadFengari(), loadFengari()])
    expect(await runLua(first, 'return "\\t\\t" == "\\x99"')).toEqual([false])
    expect(await runLua(second, 'return ("%d"):format(2^40)')).toEqual(['1099511627776'])
  })
})
