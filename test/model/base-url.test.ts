import { describe, expect, it } from 'vitest'
import { chatProvider } from '../helpers/chat-provider.ts'

describe('a base URL', () => {
  it.each(['not a url', 'ftp://host/v1', 'http://user:hidden@host/v1'])('%s is refused', (baseUrl) => {
    const make = (): unknown => chatProvider(baseUrl, { name: 'mine' })
    expect(make).toThrow(/the base URL of mine/)
    expect(make).not.toThrow(/hidden/)
  })
})
