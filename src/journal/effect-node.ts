import type { KnownEnd } from './record.ts'
import { forgetStart, type Location, type PlaceNode } from './tree.ts'

/*
 * What records say about an effect, at the node of its place.
 */

/** A writer that was overtaken may have ended what a later one has begun again: what is paid is paid. */
export function startEffect(node: PlaceNode, location: Location): void {
  if (node.isOk === true) {
    node.restarted = location
    return
  }
  node.started = location
  delete node.answer
  delete node.ended
  delete node.waits
  delete node.choice
}

/** A writer that was overtaken may say so of what a later one has done. */
export function suspendEffect(node: PlaceNode): void {
  if (node.started !== undefined && node.ended === undefined) node.waits = true
}

/** Of two good ends the later one counts: what came behind it followed from it. */
export function endEffect(node: PlaceNode, location: Location, isOk: boolean): void {
  if (node.isOk === true && !isOk) return
  if (node.restarted !== undefined) node.started = node.restarted
  delete node.restarted
  node.ended = location
  node.isOk = isOk
}

/** Adds what is known of an effect whose end is not; one that is to be done again counts as not started. */
export function choose(node: PlaceNode, choice: KnownEnd): void {
  if (choice === 'redo') forgetStart(node)
  else node.choice = choice
}
