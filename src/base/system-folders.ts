/**
 * Whether a path (absolute, links resolved) belongs to the system: processes, settings of the kernel, devices. No file of a
 * project is there, and reading them gives secrets, or never ends. Memory that is used as a disk is no such place.
 */
export function isOfSystem(path: string): boolean {
  return /^\/(?:proc|sys|dev(?!\/shm(?:\/|$)))(?:\/|$)/.test(path)
}
