import type { RefObject } from 'preact'
import { useEffect } from 'preact/hooks'

/** What the keys select: calls, questions, and the hunks of a change. */
const items = '[data-item]'

/**
 * Keys for what waits for an answer: `j` and `k` select the next and the previous call or hunk, `y` and `n` approve and
 * reject it, `e` writes a remark, `a` approves all calls of the run. The first key only selects, because it may have
 * been meant for something else. Escape and Enter leave a remark.
 */
export function useAnswerKeys(box: RefObject<HTMLElement | null>, isOn: boolean): void {
  useEffect(() => {
    if (!isOn) return undefined
    const onKey = (event: KeyboardEvent): void => {
      const all = [...(box.current?.querySelectorAll<HTMLElement>(items) ?? [])]
      const { activeElement: focused } = document
      const selected = all.findLast((item) => item.contains(focused))
      if (leavesField(event) && selected !== undefined && selected !== focused) {
        event.preventDefault()
        event.stopImmediatePropagation()
        return select(selected)
      }
      if (!['y', 'n', 'a', 'e', 'j', 'k'].includes(event.key) || !isPlain(event)) return
      event.preventDefault()
      if (selected === undefined) return select(all[0])
      act(event.key, selected, all)
    }
    // before the keys of the page
    addEventListener('keydown', onKey, { capture: true })
    return () => removeEventListener('keydown', onKey, { capture: true })
  }, [box, isOn])
}

function act(key: string, selected: HTMLElement, all: readonly HTMLElement[]): void {
  const at = all.indexOf(selected)
  const isHunk = selected.dataset['item'] === 'hunk'
  switch (key) {
    case 'j':
      return select(all[at + 1])
    case 'k':
      return select(all[at - 1])
    case 'e': {
      if (isHunk) setBox(selected, false)
      // the field of a rejected hunk is drawn first
      setTimeout(() => selected.querySelector<HTMLElement>('input:not([type=checkbox]), textarea')?.focus())
      return
    }
    case 'a': {
      const group = selected.closest('.waiting') ?? document
      for (const button of group.querySelectorAll<HTMLButtonElement>('[data-item=call] .primary')) button.click()
      return select(all.slice(at + 1).find((item) => !group.contains(item)))
    }
    default:
      if (isHunk) setBox(selected, key === 'y')
      else selected.querySelector<HTMLButtonElement>(key === 'n' ? '.danger' : '.primary')?.click()
      // the hunks of a decided call are decided with it
      select(all.slice(at + 1).find((item) => !selected.contains(item)))
  }
}

function setBox(hunk: HTMLElement, isAccepted: boolean): void {
  const box = hunk.querySelector<HTMLInputElement>('input[type=checkbox]')
  if (box !== null && box.checked !== isAccepted) box.click()
}

function select(item: HTMLElement | undefined): void {
  item?.focus()
  item?.scrollIntoView({ block: 'nearest' })
}

function isField(target: EventTarget | null): target is HTMLElement {
  return target instanceof HTMLElement && target.matches('input:not([type=checkbox]), textarea, select')
}

/** Enter sends a form of a server, and is a line break in texts. */
function leavesField({ key, target }: KeyboardEvent): boolean {
  if (!isField(target)) return false
  return key === 'Escape' || (key === 'Enter' && target.matches('input') && target.closest('form') === null)
}

/** Whether a key was pressed once, alone, and not to type text. */
function isPlain({ repeat, ctrlKey, metaKey, altKey, target }: KeyboardEvent): boolean {
  return !repeat && !ctrlKey && !metaKey && !altKey && !isField(target)
}
