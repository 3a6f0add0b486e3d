import type { VNode } from 'preact'
import { useMemo, useRef, useState } from 'preact/hooks'
import { harmlessLines, harmlessName } from '../../base/terminal-text.ts'
import { type Hunk, hunkText, readDiff } from '../../event/hunks.ts'
import { subjectOf } from '../data/format.ts'
import { decide } from '../live/api.ts'
import type { PendingApproval } from '../live/wire.ts'
import { ConfirmButton } from './confirm-button.tsx'
import { DiffTable } from './diff-table.tsx'
import { LongText } from './long-text.tsx'
import { Markdown } from './markdown.tsx'
import { useNotice } from './notice.tsx'

interface ApprovalsProps {
  readonly run: string
  readonly approvals: readonly PendingApproval[]
  /** They are answered elsewhere, or not at all. */
  readonly isReadOnly: boolean
  /** Called after each decision with the number of calls that the run still waits for. */
  readonly onDecided: (left: number) => void
}

/** The calls of a run that wait for approval, beside what the answer says about them. */
export function Approvals({ run, approvals, isReadOnly, onDecided }: ApprovalsProps): VNode {
  const box = useRef<HTMLDivElement>(null)
  const last = useRef<Promise<void>>(Promise.resolve())

  /** Answers one after the other: each is recorded by itself. */
  const inTurn = (work: () => Promise<void>): Promise<void> => (last.current = last.current.then(work))
  const decideAll = (button: '.primary' | '.danger'): void => {
    for (const one of box.current?.querySelectorAll<HTMLButtonElement>(`.approval ${button}`) ?? []) one.click()
  }
  const explanations = [...new Set(approvals.flatMap(({ review }) => review?.explanation ?? []))]

  return (
    <div
      ref={box}
      class={explanations.length === 0 ? 'approvals' : 'approvals explained'}
      role="region"
      aria-label="Pending approvals"
    >
      {explanations.length > 0 && (
        <aside aria-label="What the answer says">
          {explanations.map((text) => (
            <Markdown key={text} text={text} />
          ))}
        </aside>
      )}
      <div class="calls">
        {!isReadOnly && (
          <div class="decision notes">
            {approvals.length > 1 && (
              <>
                <button type="button" onClick={() => decideAll('.primary')}>
                  Approve all {approvals.length}
                </button>
                <ConfirmButton
                  label={`Reject all ${approvals.length}`}
                  question={`Reject all ${approvals.length} calls?`}
                  onConfirm={() => decideAll('.danger')}
                />
              </>
            )}
            <span class="about keys">
              Keys: <kbd>y</kbd> approve, <kbd>n</kbd> reject, <kbd>e</kbd> remark, <kbd>a</kbd> approve all,{' '}
              <kbd>j</kbd> <kbd>k</kbd> next and previous
            </span>
          </div>
        )}
        {approvals.map((approval) => (
          <ApprovalCard
            key={approval.id}
            run={run}
            approval={approval}
            isReadOnly={isReadOnly}
            onDecided={onDecided}
            inTurn={inTurn}
          />
        ))}
      </div>
    </div>
  )
}

interface ApprovalCardProps {
  readonly run: string
  readonly approval: PendingApproval
  readonly isReadOnly: boolean
  readonly onDecided: (left: number) => void
  /** Runs work after what was started before. */
  readonly inTurn: (work: () => Promise<void>) => Promise<void>
}

/** A call that waits for approval, with buttons to approve or reject it. */
function ApprovalCard({ run, approval, isReadOnly, onDecided, inTurn }: ApprovalCardProps): VNode {
  const { id, tool, input, diff, place, asker, until, target, folder, commands = [], runs = [], unread } = approval
  const { review, hunks: count = 0 } = approval
  const isOne = count === 0
  const { head, hunks } = useMemo(() => readHunks({ tool, diff: diff ?? '', isOne }), [tool, diff, isOne])
  const [rejected, setRejected] = useState<ReadonlyMap<number, string>>(new Map())
  const [edited, setEdited] = useState<ReadonlyMap<number, string>>(new Map())
  const [shown, setShown] = useState<ReadonlySet<number>>(new Set())
  const [reason, setReason] = useState('')
  const [isSending, setSending] = useState(false)
  const [isAllShown, setWhole] = useState(false)
  const isWhole = isAllShown || (hunks.length > 0 && hunks.every(({ number }) => shown.has(number)))
  const { say, complain } = useNotice()

  async function send(verdict: 'approve' | 'reject'): Promise<void> {
    setSending(true)
    try {
      const edits = hunks.flatMap((hunk) => editOf(hunk, edited.get(hunk.number)))
      const isPart = verdict === 'approve' && (rejected.size > 0 || edits.length > 0)
      const numbers = hunks.map(({ number }) => number).filter((number) => !rejected.has(number))
      const remarks = [...rejected].flatMap(([hunk, text]) => (text.trim() === '' ? [] : [{ hunk, text: text.trim() }]))
      const part = isPart
        ? { hunks: numbers, ...(remarks.length > 0 && { remarks }), ...(edits.length > 0 && { edits }) }
        : {}
      const left = await decide(run, id, { verdict, reason: reason.trim(), ...part })
      say(
        verdict === 'approve'
          ? `Call ${id} approved${isPart && rejected.size > 0 ? ' in part' : ''}.`
          : `Call ${id} rejected.`,
      )
      onDecided(left)
    } catch (error) {
      complain(error)
      // one that was answered goes away
      setSending(false)
    }
  }

  return (
    <article class="approval" data-item="call" aria-label={`Approve call ${id} of ${tool}?`} tabIndex={-1}>
      <h2>
        {review !== undefined && review.count > 1 && (
          <span class="about">
            {review.number} of {review.count}{' '}
          </span>
        )}
        <span class="tag">{harmlessName(tool)}</span> {subjectOf(input)}
      </h2>
      <p class="about">
        requested by <span title={harmlessName(place)}>{asker === '' ? 'the main agent' : asker}</span>
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
      ) : hunks.length === 0 ? (
        <DiffTable diff={diff} onWhole={() => setWhole(true)} />
      ) : (
        hunks.map((hunk) => {
          const { number, line, title, lines } = hunk
          return (
            <div
              key={number}
              class={rejected.has(number) ? 'hunk rejected' : 'hunk'}
              data-item={isOne ? undefined : 'hunk'}
              tabIndex={-1}
            >
              {!isOne && (
                <label>
                  <input
                    type="checkbox"
                    checked={!rejected.has(number)}
                    disabled={isReadOnly}
                    onChange={() => {
                      setRejected(toggled(rejected, number))
                      setEdited(without(edited, number))
                    }}
                  />{' '}
                  hunk {number} of {hunks.length}, line {line}
                </label>
              )}
              {!isReadOnly && !rejected.has(number) && (
                <button
                  type="button"
                  class="edit"
                  aria-label={edited.has(number) ? `Take back the edit of hunk ${number}` : `Edit hunk ${number}`}
                  onClick={() =>
                    setEdited(
                      edited.has(number) ? without(edited, number) : new Map([...edited, [number, hunkText(hunk)]]),
                    )
                  }
                >
                  {edited.has(number) ? 'Take back the edit' : 'Edit'}
                </button>
              )}
              {rejected.has(number) && (
                <input
                  type="text"
                  aria-label={`Remark about hunk ${number} (optional)`}
                  placeholder="What should be different (optional)"
                  value={rejected.get(number) ?? ''}
                  onInput={({ currentTarget }) => setRejected(new Map([...rejected, [number, currentTarget.value]]))}
                />
              )}
              <DiffTable
                diff={[...head, title, ...lines].join('\n')}
                onWhole={() => setShown((before) => new Set([...before, number]))}
              />
              {edited.has(number) && (
                <textarea
                  aria-label={`New lines of hunk ${number}`}
                  rows={Math.min(20, (edited.get(number) ?? '').split('\n').length + 1)}
                  spellcheck={false}
                  value={edited.get(number) ?? ''}
                  onInput={({ currentTarget }) => setEdited(new Map([...edited, [number, currentTarget.value]]))}
                />
              )}
            </div>
          )
        })
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
      {!isReadOnly && (
        <>
          {' '}
          {!isWhole && <p class="about">To approve it, show all of it first.</p>}
          <div class="decision">
            <input
              type="text"
              aria-label="Reason for the model (optional)"
              placeholder="Reason (optional)"
              value={reason}
              onInput={({ currentTarget }) => setReason(currentTarget.value)}
            />
            <button
              type="button"
              class="primary"
              disabled={isSending || !isWhole}
              onClick={() => void inTurn(() => send('approve'))}
            >
              {rejected.size > 0 ? `Approve ${hunks.length - rejected.size} of ${hunks.length} hunks` : 'Approve'}
            </button>
            <button type="button" class="danger" disabled={isSending} onClick={() => void inTurn(() => send('reject'))}>
              Reject
            </button>
          </div>
        </>
      )}
    </article>
  )
}

/** The hunks that can be decided or edited one by one; none of a file that is deleted, and of a diff of several files. */
function readHunks({
  tool,
  diff,
  isOne,
}: {
  readonly tool: string
  readonly diff: string
  readonly isOne: boolean
}): ReturnType<typeof readDiff> {
  const none = { head: [], hunks: [] }
  if (tool === 'delete') return none
  const read = readDiff(diff)
  return isOne && read.hunks.length !== 1 ? none : read
}

/** What is sent of an edited hunk; nothing if it is as it was. Its lines end as they did, which the field does not keep. */
function editOf(hunk: Hunk, text: string | undefined): readonly { readonly hunk: number; readonly text: string }[] {
  const before = hunkText(hunk)
  if (text === undefined) return []
  const isOpen = before.endsWith('\n') && text !== '' && !text.endsWith('\n')
  const lines = isOpen ? `${text}\n` : text
  const after = before.includes('\r\n') ? lines.replaceAll(/\r?\n/g, '\r\n') : lines
  return after === before ? [] : [{ hunk: hunk.number, text: after }]
}

function without(edited: ReadonlyMap<number, string>, hunk: number): ReadonlyMap<number, string> {
  return new Map([...edited].filter(([number]) => number !== hunk))
}

/** With the hunk among the rejected ones, or not. */
function toggled(rejected: ReadonlyMap<number, string>, hunk: number): ReadonlyMap<number, string> {
  const others = [...rejected].filter(([number]) => number !== hunk)
  return new Map(rejected.has(hunk) ? others : [...others, [hunk, '']])
}
