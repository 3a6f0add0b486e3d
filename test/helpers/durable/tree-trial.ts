import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { gitIn, iteratedPrompt, makeRepository, writing } from '../git-world.ts'
import { type ModelReply, type ModelServer, startModelServer } from '../model-server.ts'
import { tempTree } from '../temp.ts'
import { callsTools } from '../tool-model.ts'
import { finishedIn } from './finished.ts'
import { readJournal } from './journal-state.ts'
import type { Disturbance } from './play.ts'
import { makeWorldOf, type World } from './scenario.ts'
import { isBegun, startOver } from './trial.ts'

/** How a run that works in other folders than the workspace is killed. */
export type TreeKill =
  /** At an operation on files: on its record, the workspace, its work trees, the repository or temporary folders. */
  | { readonly kind: 'operation'; readonly disturb: Disturbance }
  /** At the n-th call of git, from 1: before git does anything, after it, or while it goes on alone. */
  | { readonly kind: 'git'; readonly at: number; readonly when: 'before' | 'after' | 'alone' }

/** What a run has left that a user can see. */
interface Left {
  readonly files: Readonly<Record<string, string>>
  /** Subject and tree of each commit. */
  readonly commits: readonly string[]
}

export interface TreeTrial extends Left {
  /** What does not agree. */
  readonly problems: readonly string[]
  /** It was killed: the number of operations varies, so that the point may be beyond the end. */
  readonly isHit: boolean
  /** Of the first start: its operations on files, as name and path, and its calls of git. */
  readonly operations: readonly string[]
  readonly gitCalls: number
}

interface TreeShape {
  readonly files: Readonly<Record<string, string>>
  /** Depends only on what authors and models have written. `who`: the first message of a user. */
  readonly answer: (asked: { readonly model: string; readonly who: string; readonly turn: number }) => ModelReply
  /** The number of model calls. */
  readonly calls: number
}

const text = (said: string): ModelReply => ({ text: said })
const front = 'model = "coder"\nwrite_mode = true\nbudget.unpriced = "allow"\n'
/** A new file, one that is changed, one that is deleted with its folder, and one that is moved. */
const answer = `Done.

<FILE_CHANGES>
<FILE_NEW file_path="made/new.txt">
new
</FILE_NEW>
<FILE_APPEND file_path="notes.txt">
more
</FILE_APPEND>
<FILE_DELETE file_path="gone/old.txt" />
<FILE_RENAME from_path="here.txt" to_path="there.txt" />
</FILE_CHANGES>
`
const files = { 'notes.txt': 'one\n', 'gone/old.txt': 'old\n', 'here.txt': 'a text of its own\n' }
const globs = 'context_globs = ["**/*.txt"]'

/** The runs that are killed, by name. */
export const treeShapes: Readonly<Record<string, TreeShape>> = {
  'a run with isolation and a gate': {
    files: {
      ...files,
      'ask.md': `+++\n${front}${globs}\nisolation = "worktree"\ngate = "test -e there.txt"\n+++\nGo.\n`,
    },
    answer: () => text(answer),
    calls: 1,
  },
  'an agent of a model': {
    files: {
      ...files,
      'ask.md': `+++\n${front}tools = ["task", "write"]\n+++\nLead.\n`,
      'agents/fixer.md':
        '+++\ndescription = "Corrects."\ntools = ["write"]\nwrite_mode = true\nisolation = "worktree"\n+++\nFix.\n',
    },
    answer({ who, turn }) {
      if (who.includes('Correct it.')) {
        return turn === 0 ? callsTools(['write', { path: 'made/new.txt', content: 'new\n' }]) : text('Corrected.')
      }
      const order = {
        description: 'correct it',
        prompt: 'Correct it.',
        subagent_type: 'fixer',
        run_in_background: false,
      }
      return turn === 0 ? callsTools(['task', order]) : text('It is right now.')
    },
    calls: 4,
  },
  'an ensemble with a winner': {
    files: {
      ...files,
      'ask.md': `+++\n${front}${globs}\n[ensemble]\nisolation = "worktree"\n[[ensemble.agents]]\nmodel = "a"\n[[ensemble.agents]]\nmodel = "b"\n+++\nAdd a fact.\n`,
    },
    answer({ model }) {
      if (model === 'coder') return text('{"winner": "b", "reason": "It says more."}')
      return text(model === 'a' ? writing({ 'notes.txt': 'a' }) : answer)
    },
    calls: 3,
  },
  'two steps of a workflow': {
    files: {
      ...files,
      'ask.md': `+++\n${front}${globs}\n[[workflow.step]]\nid = "a"\ninstructions = "A"\nisolation = "worktree"\n[[workflow.step]]\nid = "b"\ninstructions = "Then B"\nneeds = ["a"]\nisolation = "worktree"\n+++\n`,
    },
    answer: ({ who }) => text(who.includes('Then B') ? writing({ 'b.txt': 'new' }) : answer),
    calls: 2,
  },
  'iterations whose best is restored': {
    files: {
      ...files,
      'ask.md': iteratedPrompt('condition = "2"\ncommits = true\nscore = "wc -c < notes.txt"\nscore_best = "lowest"', {
        front: 'context_globs = ["notes.txt"]',
      }),
      'notes.txt': 'one\ntwo\n',
    },
    answer: ({ who }) =>
      text(writing(who.includes('two') ? { 'notes.txt': 'one' } : { 'notes.txt': 'longer than that', 'x.txt': 'x' })),
    calls: 2,
  },
}

/** Starts a run, kills it, and resumes it until it ends; then compares it with one that was left alone. */
export async function tryTree(name: string, kill?: TreeKill, expected?: Left): Promise<TreeTrial> {
  const shape = treeShapes[name]
  if (shape === undefined) throw new Error(`there is no ${name}`)
  const server = await startModelServer(({ body }) => {
    const messages = body?.messages ?? []
    const who = messages
      .filter(({ role }) => role === 'user')
      .map(({ content }) => content)
      .join('\n')
    return shape.answer({
      model: body?.model ?? '',
      who,
      turn: messages.filter(({ role }) => role === 'assistant').length,
    })
  })
  try {
    return await tryWith(shape, { server, kill, expected })
  } finally {
    await server.close()
  }
}

interface Trying {
  readonly server: ModelServer
  readonly kill: TreeKill | undefined
  readonly expected: Left | undefined
}

async function tryWith(shape: TreeShape, { server, kill, expected }: Trying): Promise<TreeTrial> {
  const world = makeTreeWorld(shape)
  const git = gitIn(world.workspace, world.home)
  const branches = git('branch', '--list', '--all')
  const temporary = join(world.outside, 'temporary')
  mkdirSync(temporary)
  const bin = gitWhichKills(world, kill)
  const env = { TMPDIR: temporary, PATH: `${bin}${delimiter}${process.env['PATH']}`, GIT_CONFIG_NOSYSTEM: '1' }
  const disturb: Disturbance = kill?.kind === 'operation' ? kill.disturb : {}
  const problems: string[] = []
  const first = await startOver(world, { world, url: server.url, env, disturb: { ...disturb, scope: 'all' } })
  const gitCalls = existsSync(join(world.outside, 'git')) ? linesOf(join(world.outside, 'git')).length : 0
  const isHit = kill !== undefined && first.code === null
  if (!isHit && first.code !== 0) problems.push(`exit ${first.code}: ${first.stderr}`)
  const journal = await readJournal(world)
  const paid = isBegun(journal)
    ? journal.records.filter(({ k, kind, status }) => k === 'ended' && kind === 'model' && status === 'ok').length
    : 0
  const made = server.requests.length
  if (isHit) {
    writeFileSync(join(world.outside, 'kill'), '0')
    const second = await startOver(world, { world, url: server.url, env })
    if (second.code !== 0) problems.push(`the resume ends with ${second.code}: ${second.stderr}`)
    const again = server.requests.length - made
    if (again > shape.calls - paid)
      problems.push(`${again} calls are made, although ${paid} of ${shape.calls} were paid`)
  }
  const all = finishedIn(world, first).files
  const left = {
    files: Object.fromEntries(Object.entries(all).filter(([path]) => !path.startsWith('.git/'))),
    commits: git('log', '--reverse', '--format=%s %T').split('\n'),
  }
  if (
    expected !== undefined &&
    JSON.stringify(left) !== JSON.stringify({ files: expected.files, commits: expected.commits })
  ) {
    problems.push(`left is ${JSON.stringify(left)}`)
  }
  const trees = join(world.workspace, '.git/worktrees')
  const known = existsSync(trees) ? readdirSync(trees) : []
  if (known.length > 0) problems.push(`the repository knows work trees: ${known.join()}`)
  const records = join(world.home, 'state/runs')
  if (!existsSync(records))
    problems.push(`there are no records; the first start ended with ${first.code}: ${first.stderr}`)
  const runs = existsSync(records) ? readdirSync(records, { recursive: true, encoding: 'utf8' }) : []
  const folders = runs.filter((path) => path.includes('/worktrees'))
  if (folders.length > 0) problems.push(`left in the folders of runs: ${folders.slice(0, 5).join()}`)
  if (git('branch', '--list', '--all') !== branches) problems.push(`branches: ${git('branch', '--list', '--all')}`)
  const temporaries = readdirSync(temporary)
  if (temporaries.length > 0) problems.push(`temporary folders: ${temporaries.join()}`)
  return { ...left, problems, isHit, operations: first.operations.map(([what, path]) => `${what} ${path}`), gitCalls }
}

function makeTreeWorld(shape: TreeShape): World {
  const world = makeWorldOf({ 'baton.toml': '', ...shape.files }, tempTree())
  const settings = '[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n[gc]\n\tauto = 0\n'
  writeFileSync(join(world.home, '.gitconfig'), settings)
  makeRepository(world.workspace, world.home)
  return world
}

/** A folder with a `git` that counts its calls and kills the one who made a certain call. */
function gitWhichKills({ outside }: World, kill: TreeKill | undefined): string {
  const bin = join(outside, 'bin')
  mkdirSync(bin)
  const real =
    (process.env['PATH'] ?? '')
      .split(delimiter)
      .map((folder) => join(folder, 'git'))
      .find(existsSync) ?? ''
  const { at, when } = kill?.kind === 'git' ? kill : { at: 0, when: '' }
  writeFileSync(join(outside, 'kill'), String(at))
  writeFileSync(
    join(bin, 'git'),
    `#!/bin/sh
echo "$*" >> '${outside}/git'
test "$(wc -l < '${outside}/git')" -eq "$(cat '${outside}/kill')" || exec '${real}' "$@"
case '${when}' in
  before) kill -9 "$PPID";;
  after) '${real}' "$@"; kill -9 "$PPID";;
  alone) kill -9 "$PPID"; '${real}' "$@";;
esac
`,
    { mode: 0o755 },
  )
  return bin
}

function linesOf(file: string): readonly string[] {
  return readFileSync(file, 'utf8').split('\n').filter(Boolean)
}
