import { expect, it } from 'vitest'
import { createMessageLog } from '../../src/agent/message-log.ts'
import { textMessage } from '../../src/event/message.ts'

it('identifies earlier messages by a hash that is the same on every machine', () => {
  const hashIn = (folder: string): string | undefined => {
    const log = createMessageLog({ portable: (text) => text.replaceAll(folder, '«path:workspace»') })
    log.add([textMessage('user', `List ${folder}/src.`)])
    log.answered(textMessage('assistant', `${folder}/src is empty.`))
    log.add([textMessage('user', 'Thanks.')])
    const { before, messages } = log.next()
    expect([before?.count, messages.length]).toEqual([2, 1])
    return before?.hash
  }
  expect(hashIn('/home/ada/project')).toBe(hashIn('/work/project'))
  expect(hashIn('/home/ada/project')).not.toBe(hashIn('/'))
})
