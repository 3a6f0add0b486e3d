import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { decide } from '../live/api.ts'
import type { ApprovalView } from '../live/wire.ts'
import { DiffTable } from './diff-table.tsx'
import { LongText } from './long-text.tsx'
import { useNotice } from './notice.tsx'

interface ApprovalCardProps {
  readonly run: string
  readonly approval: ApprovalView
  readonly onDecided: () => void
}

/** A call that waits for approval, with buttons to approve or reject it. */
export function ApprovalCard({ run, approval, onDecided }: ApprovalCardProps): VNode {
  const { id, tool, input, diff, place, until } = approval
  const [reason, setReason] = useState('')
  const [isSending, setSending] = useState(false)
  const { say, complain } = useNotice()

  async function send(verdict: 'approve' | 'reject'): Promise<void> {
    setSending(true)
    try {
      await decide(run, id, { verdict, reason: reason.trim() })
      say(verdict === 'approve' ? `Call ${id} approved.` : `Call ${id} rejected.`)
      onDecided()
    } catch (error) {
      complain(error)
    }
    setSending(false)
  }

  return (
    <article class="approval" aria-label={`Approve call ${id} of ${tool}?`}>
      <h2>
        <span class="tag">{tool}</span> {aboutText(input)}
      </h2>
      <p class="about">
        requested by <code>{place}</code>
        {until !== undefined && `, expires at ${new Date(until).toLocaleTimeString()}`}
      </p>
      {diff === undefined ? <LongText text={JSON.stringify(input, undefined, 2)} /> : <DiffTable diff={diff} />}
      <div class="decision">
        <input
          type="text"
          aria-label="Reason for the model (optional)"
          placeholder="Reason (optional)"
          value={reason}
          onInput={({ currentTarget }) => setReason(currentTarget.value)}
        />
        <button type="button" class="primary" disabled={isSending} onClick={() => void send('approve')}>
          Approve
        </button>
        <button type="button" class="danger" disabled={isSending} onClick={() => void send('reject')}>
          Reject
        </button>
      </div>
    </article>
  )
}

/** The first text in an input, usually a path, command or URL. */
function aboutText(input: ApprovalView['input']): string {
  if (typeof input === 'string') return input
  if (typeof input !== 'object' || input === null) return ''
  const first = Object.values(input).find((value) => typeof value === 'string')
  return typeof first === 'string' ? first.slice(0, 200) : ''
}
