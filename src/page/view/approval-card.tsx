import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { harmlessLines, harmlessName } from '../../base/terminal-text.ts'
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
  const { id, tool, input, diff, place, until, target, folder, commands = [], runs = [], unread } = approval
  const [reason, setReason] = useState('')
  const [isSending, setSending] = useState(false)
  const [isWhole, setWhole] = useState(false)
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
        <span class="tag">{harmlessName(tool)}</span> {harmlessName(aboutText(input))}
      </h2>
      <p class="about">
        requested by <code>{harmlessName(place)}</code>
        {folder !== undefined && folder !== '.' && (
          <>
            , in the folder <code>{harmlessName(folder)}</code>
          </>
        )}
        {until !== undefined && `, expires at ${new Date(until).toLocaleTimeString()}`}
      </p>
      {target !== undefined && (
        <p>
          The path leads through a link to <code>{harmlessName(target)}</code>
        </p>
      )}
      {diff === undefined ? (
        <LongText text={harmlessLines(JSON.stringify(input, undefined, 2))} onWhole={() => setWhole(true)} />
      ) : (
        <DiffTable diff={diff} onWhole={() => setWhole(true)} />
      )}
      {runs.length > 0 && (
        <p>
          Package managers then run by themselves: <code>{runs.map(harmlessName).join(', ')}</code>
        </p>
      )}
      {commands.length > 0 && (
        <>
          <p class="about">commands in it{unread === true && ', and others that are known only when it runs'}</p>
          <pre class="text" tabIndex={0}>
            {commands.map((command) => harmlessName(command)).join('\n')}
          </pre>
        </>
      )}
      {!isWhole && <p class="about">To approve it, show all of it first.</p>}
      <div class="decision">
        <input
          type="text"
          aria-label="Reason for the model (optional)"
          placeholder="Reason (optional)"
          value={reason}
          onInput={({ currentTarget }) => setReason(currentTarget.value)}
        />
        <button type="button" class="primary" disabled={isSending || !isWhole} onClick={() => void send('approve')}>
          Approve
        </button>
        <button type="button" class="danger" disabled={isSending} onClick={() => void send('reject')}>
          Reject
        </button>
      </div>
    </article>
  )
}

/** The command, path or URL in an input, or its first text. */
function aboutText(input: ApprovalView['input']): string {
  if (typeof input === 'string') return input
  if (typeof input !== 'object' || input === null) return ''
  const named = Object.entries(input).filter(([name]) => ['command', 'path', 'url'].includes(name))
  const first = [...named.map(([, value]) => value), ...Object.values(input)].find((value) => typeof value === 'string')
  return typeof first === 'string' ? first.slice(0, 200) : ''
}
