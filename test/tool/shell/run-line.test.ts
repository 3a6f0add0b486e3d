import { join } from 'node:path'
import { expect, it } from 'vitest'
import { startLine } from '../../../src/tool/shell/run-line.ts'
import { testContext } from '../../helpers/context.ts'
import { tempTree } from '../../helpers/temp.ts'

it('a line returns the output of both streams, its exit code, and the final folder of its shell', async () => {
  const workspace = tempTree({ 'inner/a.txt': '' })
  const { PATH } = process.env
  const context = testContext({ workspace, services: { env: { PATH } } })
  const started: number[] = []
  const line = 'cd inner && echo out && echo err >&2 && exit 3'
  const running = await startLine({ line, directory: workspace }, context, (pid) => started.push(pid))
  const { end, directory } = await running.ended
  expect(started).toEqual([running.pid])
  expect(end).toEqual({ kind: 'exited', code: 3 })
  expect(directory).toBe(join(workspace, 'inner'))
  expect(running.output.take().head.toString()).toBe('out\nerr\n')
})
