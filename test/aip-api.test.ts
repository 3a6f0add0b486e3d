import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { aipackFunctions } from './compat/aipack-functions.ts'
import { agentWorld } from './helpers/agents.ts'
import { root } from './helpers/baton.ts'

const page = readFileSync(join(root, 'docs/aip-api.md'), 'utf8')
const documented = [...page.matchAll(/^(?:- | {2})`([\w.]+)[^`]*`[,:]$/gm)].map(([, name = '']) => name)

/** What a script finds in the tables of `aip` and in `os`, and which of these globals exist. */
async function found(globals: readonly string[]): Promise<readonly string[]> {
  const { run } = agentWorld({
    'a.lua': `
local names = {}
local function add(prefix, module)
  for name in pairs(module) do names[#names + 1] = prefix .. name end
end
for name, module in pairs(aip) do
  if type(module) == "table" then add("aip." .. name .. ".", module) end
end
add("os.", os)
for _, name in ipairs(input) do
  if _G[name] ~= nil then names[#names + 1] = name end
end
return names`,
  })
  return (await run('a.lua', [globals])).outputs?.[0] as readonly string[]
}

it('docs/aip-api.md is generated from the doc comments of the host modules', () => {
  const script = join(root, 'scripts/aip-api.mjs')
  expect(spawnSync(process.execPath, [script, '--check'], { encoding: 'utf8' })).toMatchObject({
    status: 0,
    stderr: '',
  })
})

it('docs/aip-api.md describes every function that scripts can call exactly once, and no others', async () => {
  const globals = documented.filter((name) => !name.includes('.'))
  expect(globals).toContain('print')
  expect(documented.toSorted()).toEqual([...(await found(globals))].toSorted())
})

it('docs/aip-api.md contains all 188 entries of AIPack', () => {
  const names = Object.entries(aipackFunctions).flatMap(([module, list]) =>
    list.split(/\s+/).map((name) => `aip.${module}.${name}`),
  )
  expect(names).toHaveLength(188)
  expect(names.filter((name) => !documented.includes(name))).toEqual([])
})

it('docs/aip-api.md has a description for each entry', () => {
  const items = page.split(/^- /m).slice(1)
  const silent = items.filter((item) => !/`:\n {2}\S.{15,}/.test(item))
  expect(silent).toEqual([])
})
