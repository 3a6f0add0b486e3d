/**
 * Whether a path (absolute, links resolved) belongs to the system: processes, kernel settings, devices. Projects keep
 * no files there, and reading them exposes secrets or never ends. RAM disks such as /dev/shm are exempt.
 */
export function isOfSystem(path: string): boolean {
  return /^\/(?:proc|sys|dev(?!\/shm(?:\/|$)))(?:\/|$)/.test(path)
}
