import { BatonError } from '../../base/error.ts'
import { runGit } from '../../base/git.ts'
import { isObject } from '../../base/json.ts'
import type { RunIndex } from '../../journal/run-index.ts'
import type { RepeatAround } from '../../run/strategy.ts'
import { shortCommit } from './blocks.ts'

/**
 * A repeated iteration starts with the files of the one before it, so HEAD has to be the commit of that iteration. HEAD
 * is never moved. Iterations without commits have nothing to compare.
 * @throws BatonError USAGE if HEAD is another commit
 */
export async function checkIterationHead(
  from: string,
  index: RunIndex,
  { workspace, env, signal }: RepeatAround,
): Promise<void> {
  const [, around = '', number = ''] = /^(.*?)iteration\/(\d+)$/.exec(from) ?? []
  if (number === '') return
  const last = Number(number)
  const expected = commitBefore(last, around, index)
  if (expected === undefined) return
  const place = { cwd: workspace, env, timeLimitMs: 60_000, maxOutputBytes: 10_000 }
  const { end, stdout } = await runGit(
    { ...place, args: ['rev-parse', '--verify', '-q', 'HEAD^{commit}'] },
    signal ?? new AbortController().signal,
  )
  const head = end.kind === 'exited' && end.code === 0 ? stdout.text.trim() : undefined
  if (head === expected) return
  const is = head === undefined ? 'there is no HEAD commit' : `HEAD is ${shortCommit(head)}`
  throw new BatonError('USAGE', `iteration ${number} began at commit ${shortCommit(expected)}, but ${is}`, {
    hint: `Return to it yourself (git reset --hard ${shortCommit(expected)}), or add --force to continue with the files as they are.`,
  })
}

/** The commit an iteration started from: that of the last earlier iteration that made one, else the initial HEAD. */
function commitBefore(iteration: number, around: string, { tree, source }: RunIndex): string | undefined {
  for (let index = iteration - 1; index >= 0; index -= 1) {
    const done = tree.find(`${around}iteration/${index}`)?.done
    const record = done === undefined ? undefined : source.at(done)
    const value: unknown = record?.k === 'done' ? source.value(record.value) : undefined
    const commit = isObject(value) && isObject(value['record']) ? value['record']['commit_id'] : undefined
    if (typeof commit === 'string') return commit
  }
  const answer = tree.find(`${around}before`)?.answer
  const record = answer === undefined ? undefined : source.at(answer)
  const value: unknown = record?.k === 'obs' && record.status === 'ok' ? source.value(record.value) : undefined
  const head = isObject(value) ? value['head'] : undefined
  return isObject(value) && value['commits'] === true && typeof head === 'string' ? head : undefined
}
