import { expect, it } from 'vitest'
import { forkChat } from '../../src/chat/chat.ts'
import { listMessage } from '../../src/chat/chat-list.ts'
import { recordedPrompts } from '../../src/chat/recorded-prompts.ts'
import { newRunId, runsFolder } from '../../src/journal/run-id.ts'
import { makeRun } from '../history/fixtures.ts'
import { tempTree } from '../helpers/temp.ts'

it('a message whose question is open in a live process is not answered yet: for its prompts, and for a copy', async () => {
  const place = { cwd: tempTree({ '.git/HEAD': '' }), home: tempTree(), env: { BATON_HOME: tempTree() } }
  const runs = runsFolder({ ...place, workspace: place.cwd, runsDir: undefined })
  const id = newRunId(new Date())
  const { journal } = await makeRun({ runs, id, isAlive: true })
  journal.note({ k: 'begin', p: 'task/0', key: {} })
  const asked = { kind: 'approval', repeat: 'safe', fp: 'x', request: {} } as const
  journal.note({ k: 'started', p: 'task/0/agent/ask/turn/0/tool/0:todo/approval', ...asked })
  await journal.flush()
  listMessage(runs, id, { kind: 'message', run: id, at: Date.now(), text: 'Hi' })
  expect(await recordedPrompts(runs, id)).toMatchObject([{ id, state: 'waiting_for_approval' }])
  await expect(forkChat({ ...place, what: 'test', keepsTaken: false }, id)).rejects.toThrow('no answered message')
  await journal.close()
})
