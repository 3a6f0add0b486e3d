import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { approve } from '../../src/index.ts'
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
async function onTerminal(answers: readonly string[], later = ['a', 'b', 'c']) {
  const names = ['a', 'b', 'c']
  const server = await startModelServer((_, index) => ({
    text: index === 0 ? several(names, 'two') : several(later, 'three'),
  }))
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
  expect(text).toContain('-a one\n+a two\nwrite a.txt? [y]es, [n]o, [a]ll, n[o]ne, [e]dit: what?\n')
  expect(text).toContain('-c one\n+c two\nwrite c.txt? [y]es, [n]o, [a]ll, n[o]ne, [e]dit: ALL\n')
  expect(text).toContain('declined a.txt\n')

  expect(await onTerminal(['a'])).toMatchObject({ code: 0, given: 1, texts: 'a two\nb two\nc two\n' })
  expect(await onTerminal(['no', 'no', 'no'])).toMatchObject({ code: 0, given: 3, texts: 'a one\nb one\nc one\n' })
})

it('on a terminal a remark is returned to the model, and what was accepted is kept', async () => {
  const { code, text, texts, said } = await onTerminal(['y', 'e', 'write three', 'none', 'a'], ['b'])
  expect([code, texts]).toEqual([0, 'a two\nb three\nc one\n'])
  // the explanation first, once
  expect(text).toMatch(/│ Done\.\n1 of 3\n[^]*2 of 3\n[^]*3 of 3\n/)
  expect(said).toContain(
    '- a.txt: applied.\n\n- b.txt: rejected.\n\nThey say:\n\nwrite three\n\n- c.txt: rejected, without a remark.',
  )
})

const long = Array.from({ length: 30 }, (_, index) => `line ${index + 1}\n`).join('')
const parts = `Two places.\n\n<FILE_CHANGES>\n<FILE_PATCH file_path="a.txt">\n@@\n-line 2\n+two\n@@\n-line 28\n+28\n</FILE_PATCH>\n</FILE_CHANGES>`

async function longWorld() {
  const server = await startModelServer((_, index) => ({ text: index === 0 ? parts : 'As you like.' }))
  onTestFinished(() => server.close())
  const cwd = tempTree({ ...files, 'a.txt': long })
  const env = { BATON_GATEWAY_URL: server.url, BATON_HOME: tempTree() }
  const said = () => server.requests.at(-1)?.body?.messages.at(-1)?.content ?? ''
  return { cwd, env, said, read: () => readFileSync(join(cwd, 'a.txt'), 'utf8') }
}

it('on a terminal a file is decided hunk by hunk, and a remark about one reaches the model with its lines', async () => {
  const { cwd, env, said, read } = await longWorld()
  let given = 0
  const answers = ['y', 'no, because it is a name']
  const { code, output } = await inTerminal('baton ask.md', {
    cwd,
    env,
    onScreen: (terminal, type) => {
      const asked =
        terminal
          .everything()
          .join('\n')
          .match(/\[e\]dit:/g)?.length ?? 0
      for (; given < Math.min(asked, answers.length); given += 1) type(`${answers[given]}\n`)
    },
  })
  expect([code, given, read()]).toEqual([0, 2, long.replace('line 2\n', 'two\n')])
  expect(stripVTControlCharacters(output)).toContain(
    'write a.txt, hunk 2 of 2? [y]es, [n]o, [f]ile, [a]ll, n[o]ne, [e]dit: ',
  )
  expect(said()).toContain(
    '- a.txt: hunk 1 of 2 applied, the rest rejected.\n\nRejected: a.txt:28\n\n-line 28\n+28\n\nThey say:\n\nit is a name',
  )
})

it('on a terminal a hunk is edited in the editor of the user, and is made as it was saved', async () => {
  const { cwd, env, said, read } = await longWorld()
  let given = 0
  const answers = ['e', 'e', 'e', 'no, because it is a name']
  const { code, output } = await inTerminal('baton ask.md', {
    cwd,
    // the first time nothing is changed, and the second time nothing is left
    env: {
      ...env,
      EDITOR: `sh -c 'case "$1" in *a.txt) ;; *) exit 1;; esac; case $(ls -d edited*) in "") ;; *edited*edited*) sed -i s/two/zwei/ "$1";; *) : > "$1";; esac; mkdir edited$$' -`,
    },
    onScreen: (terminal, type) => {
      const asked =
        terminal
          .everything()
          .join('\n')
          .match(/\[e\]dit:/g)?.length ?? 0
      for (; given < Math.min(asked, answers.length); given += 1) type(`${answers[given]}\n`)
    },
  })
  const text = stripVTControlCharacters(output)
  expect([code, read()], text).toEqual([0, long.replace('line 2\n', 'zwei\n')])
  expect(text).toContain('nothing was changed in the editor')
  expect(text).toContain('the file was left empty, which would remove all of these lines: nothing was changed')
  expect(said()).toContain('The user made it otherwise: a.txt:2\n\nline 1\nzwei\nline 3')
})

it('from another terminal a file is approved in part, after which the run goes on', async () => {
  const { cwd, env, said, read } = await longWorld()
  expect((await baton(['ask.md', '--on-ask', 'suspend'], { cwd, env })).code).toBe(5)
  const wrong = await baton(['approve', '--hunks', '3'], { cwd, env })
  expect([wrong.code, wrong.stderr]).toEqual([
    2,
    expect.stringContaining('there is no hunk 3 to decide: the change has 2 hunks'),
  ])
  const { code, stderr } = await baton(['reject', '--hunks', '1', '--reason', 'keep it'], { cwd, env })
  expect([code, read()]).toEqual([0, long.replace('line 28\n', '28\n')])
  expect(stderr).toContain('patch    a.txt without hunk 1\n')
  expect(said()).toContain('Rejected: a.txt:2\n\n-line 2\n+two\n\nThey say:\n\nkeep it')
})

it('a program edits the only hunk of a change that a run waits for', async () => {
  const { cwd, env, read } = await world()
  expect((await baton(['ask.md', '--on-ask', 'suspend'], { cwd, env })).code).toBe(5)
  const place = { cwd, env: { ...process.env, ...env }, hunks: [1] }
  await expect(approve('last', { ...place, edits: [{ hunk: 2, text: '' }] })).rejects.toMatchObject({ code: 'USAGE' })
  await approve('last', { ...place, edits: [{ hunk: 1, text: 'zwei\n' }] })
  expect((await baton(['resume', 'last'], { cwd, env })).code).toBe(0)
  expect(read()).toBe('zwei\n')
})

it('from another terminal what was approved is kept when another change is rejected with a reason', async () => {
  const server = await startModelServer((_, index) => ({ text: index === 0 ? several(['a', 'b'], 'two') : 'Good.' }))
  onTestFinished(() => server.close())
  const cwd = tempTree({ ...files, 'a.txt': 'a one\n', 'b.txt': 'b one\n' })
  const env = { BATON_GATEWAY_URL: server.url, BATON_HOME: tempTree() }
  const suspended = await baton(['ask.md', '--on-ask', 'suspend'], { cwd, env })
  expect(suspended.stderr).toContain('waiting for approval: 2 calls\n')
  await baton(['approve', '1', '--no-resume'], { cwd, env })
  const { code } = await baton(['reject', '2', '--reason', 'not b'], { cwd, env })
  const read = (name: string): string => readFileSync(join(cwd, name), 'utf8')
  expect([code, read('a.txt'), read('b.txt')]).toEqual([0, 'a two\n', 'b one\n'])
})

it('a change that builds on a rejected one is not made, and the user and the model are told', async () => {
  const changes =
    '<FILE_RENAME from_path="a.txt" to_path="z.txt" />\n<FILE_PATCH file_path="z.txt">\n@@\n-one\n+two\n</FILE_PATCH>'
  const server = await startModelServer((_, index) => ({
    text: index === 0 ? `<FILE_CHANGES>\n${changes}\n</FILE_CHANGES>` : 'Good.',
  }))
  onTestFinished(() => server.close())
  const [cwd, env] = [tempTree(files), { BATON_GATEWAY_URL: server.url, BATON_HOME: tempTree() }]
  await baton(['ask.md', '--on-ask', 'suspend'], { cwd, env })
  await baton(['reject', '1', '--reason', 'keep the name', '--no-resume'], { cwd, env })
  const { code, stderr } = await baton(['approve', '2'], { cwd, env })
  expect([code, stderr]).toEqual([
    0,
    expect.stringContaining('declined z.txt\ndeclined z.txt: it builds on a change that was rejected\n'),
  ])
  expect(server.requests.at(-1)?.body?.messages.at(-1)?.content).toContain(
    'z.txt: accepted, but not applied: it builds on a change that was rejected',
  )
})

it('a terminal that is closed instead of an answer suspends the run', async () => {
  const { code, text, texts } = await onTerminal(['y', '\u0004'])
  // the rest of the review is left open as well, without a question
  expect([code, texts]).toEqual([5, 'a one\nb one\nc one\n'])
  expect(text).toMatch(/waiting for approval: 2 calls\n[^]*path: b\.txt\n[^]*path: c\.txt\n[^]*baton resume /)
})
