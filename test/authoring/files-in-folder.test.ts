import { execFileSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { filesNamed } from '../../src/authoring/files-in-folder.ts'
import { tempTree } from '../helpers/temp.ts'

const { signal } = new AbortController()
const env = { PATH: process.env['PATH'] }

it('a folder stands for the prompt files and agents in it, except those that git and globs ignore', async () => {
  const cwd = tempTree({
    'a.md': '+++\n+++\nHi\n',
    'b.md': '---\nmodel: m\n---\nHi\n',
    'post.md': '---\ntitle: A post\nname: x\n---\nHi\n',
    'README.md': '# Hi\n',
    'sub/x.aip': '',
    'sub/y.lua': '',
    'sub/lua/module.lua': '',
    'node_modules/p/z.lua': '',
    'gone/z.lua': '',
    'kept.lua': '',
    'secret.lua': '',
    '.gitignore': 'gone/\nsecret.lua\n',
  })
  expect(await filesNamed(['.', 'post.md', 'sub'], { cwd, env: {} }, signal)).toMatchObject([
    { files: ['a.md', 'b.md', 'gone/z.lua', 'kept.lua', 'secret.lua', 'sub/x.aip', 'sub/y.lua'] },
    { files: ['post.md'], isFolder: false },
    { files: ['sub/x.aip', 'sub/y.lua'], isFolder: true },
  ])
  execFileSync('git', ['init', '-q'], { cwd })
  const [all] = await filesNamed(['.'], { cwd, env }, signal)
  expect(all?.files).toEqual(['a.md', 'b.md', 'kept.lua', 'sub/x.aip', 'sub/y.lua'])
})

it('a file with a fenced block of front matter is a prompt file, and one that only shows it is not', async () => {
  const block = '```toml\n#!meta\nmodel = "m"\n```\n'
  const cwd = tempTree({ 'meta.md': `Hi\n\n${block}`, 'guide.md': `\`\`\`\`markdown\n${block}\`\`\`\`\n\n#!meta\n` })
  expect(await filesNamed(['.'], { cwd, env: {} }, signal)).toMatchObject([{ files: ['meta.md'] }])
})

it('an empty folder is an error, and an agent next to a folder of the same name is preferred', async () => {
  const cwd = tempTree({ 'empty/notes.txt': '', 'lint/a.lua': '', 'lint.aip': '' })
  await expect(filesNamed(['empty'], { cwd, env }, signal)).rejects.toMatchObject({ code: 'USAGE' })
  expect(await filesNamed(['lint'], { cwd, env }, signal)).toMatchObject([{ files: ['lint'], isFolder: false }])
})
