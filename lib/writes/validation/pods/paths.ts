/** Paths in file systems. */

import type { Place } from '../place.ts'

/** A path that does not leave its root. */
export function checkNoBacksteps(path: Place): void {
  if (path.text.split('/').includes('..')) path.invalid("must not contain '..'")
}

export function checkDescending(path: Place): void {
  if (path.text.startsWith('/')) path.invalid('must be a relative path')
  checkNoBacksteps(path)
}

/** A path in a volume whose names with two dots are the kubelet's. */
export function checkUnreserved(path: Place): void {
  checkDescending(path)
  if (path.text.startsWith('..') && !path.text.startsWith('../')) {
    path.invalid("must not start with '..'")
  }
}
