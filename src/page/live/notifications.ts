import { hashOf } from '../route.ts'
import type { InboxItem } from './wire.ts'

const key = 'baton.notify'

/** `ask`: the person has not been asked yet. `no`: not possible, or refused in the browser. */
export type NotifyState = 'on' | 'off' | 'ask' | 'no'

/** Whether runs that begin to wait are announced by the browser. */
export function notifyState(): NotifyState {
  if (!('Notification' in globalThis) || Notification.permission === 'denied') return 'no'
  if (Notification.permission === 'default') return 'ask'
  return localStorage.getItem(key) === 'off' ? 'off' : 'on'
}

/** Turns notifications on or off. The browser asks the person the first time, so this follows a click. */
export async function switchNotifications(): Promise<NotifyState> {
  const state = notifyState()
  if (state === 'ask') await Notification.requestPermission()
  localStorage.setItem(key, state === 'on' ? 'off' : 'on')
  return notifyState()
}

/** Announces a run that waits, unless its page is looked at. Several tabs show it once. */
export function announce({ run, questions, uncertain }: InboxItem): void {
  if (notifyState() !== 'on' || document.visibilityState === 'visible') return
  const what = questions > 0 ? 'has a question' : uncertain > 0 ? 'needs a decision' : 'needs approval'
  const shown = new Notification(`${run.name ?? run.file} ${what}`, { tag: run.id, body: `Baton, run ${run.id}` })
  shown.addEventListener('click', () => {
    focus()
    location.hash = hashOf({ kind: 'inbox' })
    shown.close()
  })
}
