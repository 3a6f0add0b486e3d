import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { firstText, takeInventory } from '../../src/authoring/inventory.ts'
import { tempTree } from '../helpers/temp.ts'

const files = {
  'built-in/finder.aip': '# finder\n\nFinds files. And more.\n\n# Output\n',
  'built-in/lint.aip': 'Lints.\n',
  'built-in/models.toml': '',
  'built-in/lua/shared.lua': '',
  'pipelines/coder.md': '+++\n# Writes code.\n+++\nDo it.\n',
  'project/agents/mine.aip': 'Mine.\n',
  'project/agents/deep/other.lua': '-- Other.\nreturn nil\n',
  'project/agents/lua/module.lua': '-- not an agent\n',
  'project/lint.lua': '-- stands in front\n',
  'project/.baton/packs/ns/p/main.aip': 'The main one.\n',
  'project/.baton/packs/ns/p/check.aip': '',
  'project/.baton/packs/ns/p/sub/main.lua': '-- A sub-agent.\n',
  'project/.baton/packs/ns/p/sub/part.aip': 'not an agent by a short name',
  'project/.baton/packs/ns/p/lua/module.lua': '',
  'project/.baton/packs/ns/p/README.md': '# p\n\n+++\n',
  'project/.baton/packs/ns/p/plan.md': '+++\ndescription = "Plans."\n+++\nDo it.\n',
  'project/.baton/packs/ns/p/prompts/deep.md': '---\n# Goes deep.\n---\nDo it.\n',
  'user/ns/p/main.aip': 'The old one.\n',
}

describe('the inventory', () => {
  const root = tempTree(files)
  const places = {
    workspace: join(root, 'project'),
    packRoots: [join(root, 'project/.baton/packs'), join(root, 'user'), join(root, 'nowhere')],
    builtInDir: join(root, 'built-in'),
    pipelinesDir: join(root, 'pipelines'),
  }

  it('contains the agents of the project, of Baton and of packs, and the pipelines, each with its first sentence', async () => {
    const groups = await takeInventory(places)
    const lines = groups.flatMap(({ kind, pack, items }) =>
      items.map(({ name, description }) => [kind, pack, name, description].filter((part) => part !== undefined)),
    )
    expect(lines).toEqual([
      ['workspace', 'agents/deep/other.lua', 'Other.'],
      ['workspace', 'agents/mine.aip', 'Mine.'],
      ['built-in', 'finder', 'Finds files.'],
      ['built-in', 'lint', 'Lints.'],
      ['pack', 'ns@p', 'ns@p', 'The main one.'],
      ['pack', 'ns@p', 'ns@p/check', ''],
      ['pack', 'ns@p', 'ns@p/plan.md', 'Plans.'],
      ['pack', 'ns@p', 'ns@p/prompts/deep.md', 'Goes deep.'],
      ['pack', 'ns@p', 'ns@p/sub', 'A sub-agent.'],
      ['pack', 'ns@p', 'ns@p', 'The old one.'],
      ['pipeline', 'coder', 'Writes code.'],
    ])
  })

  it('says what shadows a name', async () => {
    const groups = await takeInventory(places)
    const shadowed = groups.flatMap(({ items }) => items.filter(({ shadowedBy }) => shadowedBy !== undefined))
    expect(shadowed.map(({ file, shadowedBy }) => [file, shadowedBy])).toEqual([
      [join(root, 'built-in/lint.aip'), join(root, 'project/lint.lua')],
      [join(root, 'user/ns/p/main.aip'), join(root, 'project/.baton/packs/ns/p')],
    ])
  })

  it('marks a pack with the name of the built-in pack as unused', async () => {
    const here = tempTree({ 'packs/baton/core/lint.aip': '', 'built-in/lint.aip': '', 'pipelines/a.md': '' })
    const builtInDir = join(here, 'built-in')
    const groups = await takeInventory({
      workspace: here,
      packRoots: [join(here, 'packs')],
      builtInDir,
      pipelinesDir: join(here, 'pipelines'),
    })
    expect(groups.map(({ kind, items }) => [kind, ...items.map(({ shadowedBy }) => shadowedBy)])).toEqual([
      ['built-in', undefined],
      ['pack', builtInDir],
      ['pipeline', undefined],
    ])
  })

  it('lists the agents of Baton only once in its own repository', async () => {
    const here = tempTree({ 'agents/finder.aip': '', 'pipelines/a.md': '' })
    const groups = await takeInventory({
      workspace: here,
      packRoots: [],
      builtInDir: join(here, 'agents'),
      pipelinesDir: join(here, 'pipelines'),
    })
    expect(groups.map(({ kind }) => kind)).toEqual(['built-in', 'pipeline'])
  })
})

describe('the first sentence', () => {
  it.each([
    [
      'a.aip',
      '# a\n\nFinds the `x.y` files\nof a project. Stage: pre.\n\n# Data\n',
      'Finds the `x.y` files of a project.',
    ],
    ['a.aip', 'No end\n\n# Output\n', 'No end'],
    ['a.aip', '# Output\n\n```lua\nreturn 1\n```\n', ''],
    ['a.aip', '\uFEFFWith a mark.\n', 'With a mark.'],
    ['a.aip', 'Red \u001B[31malert.\n', 'Red [31malert.'],
    ['a.lua', '-- Counts words. Twice.\nreturn 1\n', 'Counts words.'],
    ['a.lua', '--- Counts\n-- words.\n--\n-- More.\n', 'Counts words.'],
    ['a.lua', 'return 1\n', ''],
    ['a.md', '+++\ndescription = "Says it."\n# Not this.\n+++\nDo.\n', 'Says it.'],
    ['a.md', '+++\n#:schema ./x.json\n# Reviews\n# a change. Or two.\nmodel = "x"\n+++\nDo.\n', 'Reviews a change.'],
    ['a.md', '+++\nmodel = "x"\n# Later.\n+++\nDo it now. Please.\n', 'Do it now.'],
    ['a.md', '---\n# Reviews.\nmodel: x\n---\nDo.\n', 'Reviews.'],
    ['a.md', 'Do it.\n', 'Do it.'],
    ['a.md', '+++\nbroken\n+++\n', ''],
  ])('of %s is %j', async (file, text, sentence) => {
    expect(await firstText(file, () => text)).toBe(sentence)
  })
})
