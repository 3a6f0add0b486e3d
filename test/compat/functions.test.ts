import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../helpers/baton.ts'
import { agentWorld } from '../helpers/agents.ts'
import { aipackFunctions } from './aipack-functions.ts'

const all = Object.entries(aipackFunctions).flatMap(([module, names]) =>
  names.split(/\s+/).map((name) => `aip.${module}.${name}`),
)

/** The result of a script that looks for each of them. */
async function missingFunctions(): Promise<readonly string[]> {
  const { run } = agentWorld({
    'a.lua': `
local missing = {}
for _, path in ipairs(input) do
  local module, name = path:match("^aip%.(%w+)%.([%w_]+)$")
  if type(aip[module]) ~= "table" or aip[module][name] == nil then table.insert(missing, path) end
end
return { missing = missing }`,
  })
  const [output] = (await run('a.lua', [all])).outputs
  const { missing } = output as { readonly missing: readonly string[] | Readonly<Record<string, never>> }
  return Array.isArray(missing) ? missing : []
}

/** The rows of the table below `## Functions that are missing`: a module, then its functions. */
function documentedAsMissing(): readonly string[] {
  const text = readFileSync(join(root, 'docs/compat.md'), 'utf8')
  const section = text.split('## Functions that are missing')[1]?.split('\n## ')[0] ?? ''
  return [...section.matchAll(/^\| `(aip\.\w+)` \| (.*) \|$/gm)].flatMap(([, module = '', cell = '']) =>
    [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => `${module}.${name}`),
  )
}

it('docs/compat.md names every AIPack function that is missing here, and no others', async () => {
  expect(all).toHaveLength(188)
  expect(new Set(all).size).toBe(188)
  expect(documentedAsMissing().toSorted()).toEqual([...(await missingFunctions())].toSorted())
})
