import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { baton } from '../helpers/baton.ts'
import { startModelServer } from '../helpers/model-server.ts'
import { inTerminal } from '../helpers/pty.ts'
import { tempTree } from '../helpers/temp.ts'

const files = {
  '.git/HEAD': 'ref: refs/heads/main\n',
  'ask.md': '+++\nmodel = "m"\nwrite_mode = "ask"\ncontext_globs = ["*.txt"]\n+++\nChange it.\n',
  'a.txt': 'one\n',
}
const answer = (to: string): string =>
  `Done.\n\n<FILE_CHANGES>\n<FILE_PATCH file_path="a.txt">\n@@\n-one\n+${to}\n</FILE_PATCH>\n</FILE_CHANGES>`

async function world() {
  const server = await startModelServer((_, index) => ({ text: answer(index === 0 ? 'two' : 'three') }))
  onTestFinished(() => server.close())
  const cwd = tempTree(files)
  const env = { BATON_GATEWAY_URL: server.url, BATON_HOME: tempTree() }
  return { server, cwd, env, read: () => readFileSync(join(cwd, 'a.txt'), 'utf8') }
}

it('without a terminal --on-ask decides: a suspended run continues where it was, and -y allows', async () => {
  const { server, cwd, env, read } = await world()
  const denied = await baton(['ask.md'], { cwd, env })
  expect([denied.code, read()]).toEqual([5, 'one\n'])
  expect(denied.stderr).toContain('error: writing a.txt needs approval, and nobody can be asked\n')

  const suspended = await baton(['ask.md', '--on-ask', 'suspend'], { cwd, env })
  expect([suspended.code, read(), server.requests.length]).toEqual([5, 'one\n', 2])
  expect(suspended.stderr).toContain('waiting for approval: 1 call\n1  write  ')

  const { code, stdout } = await baton(['resume', '--last', '-y'], { cwd, env })
  expect([code, stdout, read(), server.requests.length]).toEqual([0, 'Done.\n', 'three\n', 2])
})

const several = (names: readonly string[], to: string): string =>
  `Done.\n\n<FILE_CHANGES>\n${names.map((name) => `<FILE_PATCH file_path="${name}.txt">\n@@\n-${name} one\n+${name} ${to}\n</FILE_PATCH>\n`).join('')}</FILE_CHANGES>`

/** Each question on the terminal gets the next of the answers. */
async function onTerminal(answers: readonly string[]) {
  const names = ['a', 'b', 'c']
  const server = await startModelServer((_, index) => ({ text: several(names, index === 0 ? 'two' : 'three') }))
  onTestFinished(() => server.close())
  const texts = Object.fromEntries(names.map((name) => [`${name}.txt`, `${name} one\n`]))
  const cwd = tempTree({ ...files, ...texts })
  let given = 0
  const { code, output } = await inTerminal('baton ask.md', {
    cwd,
    env: { BATON_GATEWAY_URL: server.url },
    onScreen: (terminal, type) => {
      const asked =
        terminal
          .everything()
          .join('\n')
          .match(/\[e\]dit:|should be different:/g)?.length ?? 0
      for (; given < Math.min(asked, answers.length); given += 1) type(`${answers[given]}\n`)
    },
  })
  return {
    code,
    given,
    text: stripVTControlCharacters(output).replaceAll('\r', ''),
    texts: names.map((name) => readFileSync(join(cwd, `${name}.txt`), 'utf8')).join(''),
    said: server.requests.at(-1)?.body?.messages.at(-1)?.content ?? '',
  }
}

it('on a terminal each change is shown with its diff, and is decided by yes, no or all', async () => {
  const { code, given, text, texts } = await onTerminal(['what?', 'n', 'y', 'ALL'])
  expect([code, given, texts]).toEqual([0, 4, 'a one\nb two\nc two\n'])
  expect(text).toContain('-a one\n+a two\nwrite a.txt? [y]es, [n]o, [a]ll, [e]dit: what?\n')
  expect(text).toContain('-c one\n+c two\nwrite c.txt? [y]es, [n]o, [a]ll, [e]dit: ALL\n')
  expect(text).toContain('declined a.txt\n')

  expect(await onTerminal(['a'])).toMatchObject({ code: 0, given: 1, texts: 'a two\nb two\nc two\n' })
  expect(await onTerminal(['no', 'no', 'no'])).toMatchObject({ code: 0, given: 3, texts: 'a one\nb one\nc one\n' })
})

it('on a terminal a remark is returned to the model, and its new changes are asked about', async () => {
  const { code, texts, said } = await onTerminal(['y', 'e', 'write three', 'a'])
  expect([code, texts]).toEqual([0, 'a three\nb three\nc three\n'])
  expect(said).toContain('They say:\n\nwrite three\n')
})

it('a terminal that is closed instead of an answer suspends the run', async () => {
  const { code, text, texts } = await onTerminal(['y', '\u0004'])
  expect([code, texts]).toEqual([5, 'a one\nb one\nc one\n'])
  expect(text).toMatch(/waiting for approval: 1 call\n[^]*path: b\.txt\n[^]*baton resume /)
})
