import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type LuaEngine, LuaError, type LuaValue } from '../../src/script/engine.ts'
import { loadFengari } from '../../src/script/fengari/engine.ts'
import { loadLua54 } from '../../src/script/lua54/engine.ts'
import { luaDifferences } from '../contract/lua-differences.ts'
import { runLua } from '../contract/lua-engine.ts'

const engines = { lua54: loadLua54(), fengari: loadFengari() }
const limits = { memoryBytes: 16_000_000 }

/** The value of an expression as JSON; the name of the limit if it reaches one. */
async function valueOf(engine: LuaEngine, text: string): Promise<string> {
  try {
    const [value] = await runLua(engine, `return ${text}`, { limits })
    return JSON.stringify(value, (_, item: LuaValue) => (typeof item === 'bigint' ? String(item) : item))
  } catch (error) {
    if (error instanceof LuaError) return JSON.stringify(error.limit)
    throw error
  }
}

describe('the differences between the engines', () => {
  it.each(luaDifferences)('are as listed: $name', async ({ text, lua54, fengari }) => {
    expect(await valueOf(await engines.lua54, text)).toBe(lua54)
    expect(await valueOf(await engines.fengari, text)).toBe(fengari)
  })

  it('are those that the document lists', () => {
    const document = readFileSync(join(import.meta.dirname, '../../docs/lua.md'), 'utf8')
    const [, section = ''] = document.split('\n## The two engines\n')
    const rows = section.split('\n## ')[0]?.match(/^\| .* \| .* \| .* \|$/gm) ?? []
    const listed = rows.map((row) => row.slice(2, -2).split(' | ')).filter(([name]) => name !== '---')
    expect(listed.slice(1)).toEqual(
      luaDifferences.map(({ name, lua54, fengari }) => [name, `\`${lua54}\``, `\`${fengari}\``]),
    )
  })
})
