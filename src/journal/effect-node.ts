import type { KnownEnd } from './record.ts'
import { forgetStart, type Location, type PlaceNode } from './tree.ts'

/*
 * Applies records about an effect to the node of its place.
 */

/** A superseded writer may have finished what a later one has started again: what is paid is paid. */
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

/** A superseded writer may record this for something that a later one has done. */
export function suspendEffect(node: PlaceNode): void {
  if (node.started !== undefined && node.ended === undefined) node.waits = true
}

/** Of two successful ends the later one counts: what comes after it was based on it. */
export function endEffect(node: PlaceNode, location: Location, isOk: boolean): void {
  if (node.isOk === true && !isOk) return
  if (node.restarted !== undefined) node.started = node.restarted
  delete node.restarted
  node.ended = location
  node.isOk = isOk
}

/** Adds what is known of an effect with an unknown outcome; an effect that is to be repeated counts as not started. */
export function choose(node: PlaceNode, choice: KnownEnd): void {
  if (choice === 'redo') forgetStart(node)
  else node.choice = choice
}
