import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type ChatCommands, collectChatCommands } from '../../src/config/chat-commands.ts'
import { tempTree } from '../helpers/temp.ts'

describe('commands from files', () => {
  it('are prompt files of a folder, with the data for lists and messages', async () => {
    const { byName, warnings } = await commandsIn({
      'commands/review.md':
        '+++\ndescription = "reviews"\nargument_hint = "FILE"\ntools = ["read"]\nmodel = "fast"\nmode = "code"\n+++\n\nReview $1.\n',
      'commands/plain.md': 'Say hello.\n',
      'commands/notes.txt': 'no command',
      'commands/not a name.md': 'no command',
    })
    expect(warnings).toEqual([])
    expect([...byName.keys()]).toEqual(['plain', 'review'])
    expect(byName.get('review')).toMatchObject({
      description: 'reviews',
      argumentHint: 'FILE',
      text: 'Review $1.',
      settings: { tools: ['read'], model: 'fast', mode: 'code' },
      from: 'workspace',
      shown: 'commands/review.md',
    })
    expect(byName.get('plain')).toMatchObject({ description: '', argumentHint: '', text: 'Say hello.' })
    expect(byName.get('plain')?.settings).toEqual({})
  })

  it('of the project override those of the user, and these override those of packs, of which the first wins', async () => {
    const names = ['a', 'b', 'c', 'd', 'e']
    const layer = (folder: string, count: number) =>
      Object.fromEntries(names.slice(0, count).map((name) => [`${folder}/${name}.md`, folder]))
    const { byName } = await commandsIn({
      ...layer('.baton/commands', 1),
      ...layer('commands', 2),
      ...layer('.home/config/commands', 3),
      ...layer('packs/first/commands', 4),
      ...layer('packs/second/commands', 5),
    })
    expect(names.map((name) => byName.get(name)?.text)).toEqual([
      '.baton/commands',
      'commands',
      '.home/config/commands',
      'packs/first/commands',
      'packs/second/commands',
    ])
    expect(names.map((name) => byName.get(name)?.from)).toEqual(['workspace', 'workspace', 'user', 'pack', 'pack'])
  })

  it('do not override commands that every chat has', async () => {
    const { byName, warnings } = await commandsIn({ 'commands/help.md': 'Do not help.' })
    expect([...byName]).toEqual([])
    expect(warnings).toEqual([
      expect.objectContaining({ message: 'commands/help.md is not used: /help is a built-in chat command' }),
    ])
  })

  it.each([
    ['+++\ntool = ["read"]\n+++\nx', 2, 'unknown key "tool" in a command'],
    ['+++\ndescription = "d"\ntools = "read"\n+++\nx', 3, '"tools" must be a list of strings, not "read"'],
    ['+++\nmodel = 5\n+++\nx', 2, '"model" must be non-empty text, not the number 5'],
    ['+++\nmodel = \n+++\nx', 2, 'the front matter is not valid TOML: invalid value'],
    ['+++\nmodel = "m"\n+++\n', undefined, 'commands/bad.md is not a command: it has no text'],
  ])('that are invalid are omitted with a warning that names the place: %j', async (text, line, message) => {
    const { byName, warnings } = await commandsIn({ 'commands/bad.md': text, 'commands/good.md': 'Fine.' })
    expect([...byName.keys()]).toEqual(['good'])
    expect(warnings).toEqual([
      expect.objectContaining({ message, place: expect.objectContaining({ file: 'commands/bad.md' }) }),
    ])
    if (line !== undefined) expect(warnings[0]?.place?.line).toBe(line)
  })

  it('that are invalid hide commands of the same name with lower priority', async () => {
    const { byName } = await commandsIn({
      '.home/config/commands/x.md': 'Mine.',
      'commands/x.md': '+++\nx = 1\n+++\nx',
    })
    expect(byName.has('x')).toBe(false)
  })

  it('are not read if a link leads out of the project', async () => {
    const outside = tempTree({ 'secret.md': 'secret' })
    const { byName, warnings } = await commandsIn({}, (folder) => {
      mkdirSync(join(folder, 'commands'))
      symlinkSync(join(outside, 'secret.md'), join(folder, 'commands/x.md'))
    })
    expect([...byName]).toEqual([])
    expect(warnings[0]?.message).toMatch(/^commands\/x\.md leads outside the workspace through the link/)
  })
})

async function commandsIn(
  files: { readonly [path: string]: string },
  prepare: (folder: string) => void = () => {},
): Promise<ChatCommands> {
  const folder = tempTree(files)
  prepare(folder)
  return collectChatCommands({
    cwd: folder,
    home: folder,
    env: { BATON_HOME: join(folder, '.home') },
    workspace: folder,
    packs: ['first', 'second'].map((name) => ({ dir: join(folder, 'packs', name) })),
    builtInNames: ['help'],
  })
}
