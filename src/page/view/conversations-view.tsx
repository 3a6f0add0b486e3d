import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { numberOf, whenText } from '../data/format.ts'
import { fetchChoices, fetchConversations, sendPrompt } from '../live/api.ts'
import { useLoaded } from '../live/use-loaded.ts'
import { hashOf, type Route } from '../route.ts'
import { Composer } from './composer.tsx'
import { Loading } from './loading.tsx'
import { useNotice } from './notice.tsx'

interface ConversationsViewProps {
  readonly go: (route: Route) => void
}

/** The conversations of the workspace, and a field to start one. */
export function ConversationsView({ go }: ConversationsViewProps): VNode {
  const [loaded] = useLoaded('conversations', fetchConversations)
  const [choices] = useLoaded('choices', fetchChoices)
  const [model, setModel] = useState('')
  const [mode, setMode] = useState('')
  const [isSending, setSending] = useState(false)
  const { complain } = useNotice()

  async function begin(input: string): Promise<void> {
    setSending(true)
    try {
      const { conversationId } = await sendPrompt({
        input,
        ...(model.trim() !== '' && { model: model.trim() }),
        ...(mode !== '' && { mode }),
      })
      go({ kind: 'conversation', id: conversationId })
    } catch (error) {
      complain(error)
      setSending(false)
    }
  }

  return (
    <section class="view scroll" aria-label="Conversations">
      <h1 class="hidden">Conversations</h1>
      <Composer label="Start a conversation" isDisabled={isSending} onSend={(text) => void begin(text)}>
        <label>
          Model{' '}
          <input
            type="text"
            list="models"
            placeholder="usual"
            value={model}
            onInput={({ currentTarget }) => setModel(currentTarget.value)}
          />
        </label>
        <datalist id="models">
          {choices.kind === 'here' && choices.value.models.map((name) => <option key={name} value={name} />)}
        </datalist>
        <label>
          Mode{' '}
          <select value={mode} onChange={({ currentTarget }) => setMode(currentTarget.value)}>
            <option value="">usual</option>
            {choices.kind === 'here' &&
              choices.value.modes.map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
          </select>
        </label>
      </Composer>
      <Loading loaded={loaded}>
        {(conversations) =>
          conversations.length === 0 ? (
            <p class="empty">No conversations yet. Start one above, or with baton chat.</p>
          ) : (
            <ul class="files">
              {conversations.map(({ id, at, messages, text }) => (
                <li key={id}>
                  <a href={hashOf({ kind: 'conversation', id })}>
                    <strong>{text === '' ? id : text}</strong>
                    <span class="about">
                      {numberOf(messages, 'message')} · {whenText(at)}
                    </span>
                  </a>
                </li>
              ))}
            </ul>
          )
        }
      </Loading>
    </section>
  )
}
