import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, it } from 'vitest'
import { leaderOf } from '../../src/base/process-group.ts'
import { endLeftoverProcesses, lossText, readSession, storeSession } from '../../src/chat/session-file.ts'
import { sessionFile } from '../../src/journal/chat-place.ts'
import { createMask } from '../../src/journal/secrets.ts'
import { processOwners } from '../../src/journal/owner.ts'
import { tempTree } from '../helpers/temp.ts'

const nothing = { servers: [], commands: [], jobs: [], processes: [] }
const mask = createMask({ API_TOKEN: 'a-secret-of-this-test' })

it('the state of a session is kept without secrets, and says what a model has lost', () => {
  const runs = tempTree()
  const commands = [{ id: 'bash_1', line: 'serve --token a-secret-of-this-test\n  --port 80' }]
  storeSession({ ...nothing, servers: ['files', 'web'], commands }, 'chat', { runs, mask })
  const stored = readSession(runs, 'chat')
  expect(stored?.owner.pid).toBe(process.pid)
  expect(JSON.stringify(stored)).not.toContain('a-secret-of-this-test')
  expect(stored && lossText(stored)).toEqual(
    expect.stringMatching(
      /^Since the last message, the MCP servers of this chat were ended.* \(files, web\)\. .* have ended: bash_1 \(serve --token \S*API_TOKEN\S* --port 80\)\.$/,
    ),
  )
  expect(lossText(nothing)).toBeUndefined()
})

it.each(['', '{}', '{"servers":1}', '[]', '{"servers":[],"commands":[],"jobs":[]}'])(
  '%j is no state of a session',
  (text) => {
    const runs = tempTree({ 'chats/chat.session': text })
    expect(sessionFile(runs, 'chat')).toBe(`${runs}/chats/chat.session`)
    expect(readSession(runs, 'chat')).toBeUndefined()
    expect(readSession(runs, 'other')).toBeUndefined()
  },
)

it('what a killed process left is ended, and what a living one has is not', async () => {
  const child = spawn('sleep', ['300'], { detached: true, stdio: 'ignore' })
  const ended = once(child, 'exit')
  const state = { ...nothing, processes: [leaderOf(child.pid ?? 0)] }
  const owner = processOwners.self()
  await endLeftoverProcesses({ ...state, owner })
  expect(child.exitCode ?? child.signalCode).toBeNull()
  await endLeftoverProcesses({ ...state, owner: { ...owner, host: 'another machine', boot: 'another' } })
  expect(child.exitCode ?? child.signalCode).toBeNull()
  // a process of the same number that started at another time
  await endLeftoverProcesses({ ...state, owner: { ...owner, start: 'ticks:1' } })
  expect(await ended).toEqual([null, 'SIGTERM'])
})
