/** Kubeconfigs of several files as one, by kubectl's rule for KUBECONFIG: the first file that has
 *  an entry of a name has all of it, and the first that sets the current context decides. */

import type { Kubeconfig } from './kubeconfig.ts'

export function mergeKubeconfigs(files: readonly Kubeconfig[]): Kubeconfig {
  return {
    files: files.flatMap(one => one.files),
    currentContext: files.find(one => one.currentContext !== '')?.currentContext ?? '',
    clusters: firstOfEach(files.map(one => one.clusters)),
    users: firstOfEach(files.map(one => one.users)),
    contexts: firstOfEach(files.map(one => one.contexts)),
  }
}

function firstOfEach<T>(maps: readonly ReadonlyMap<string, T>[]): ReadonlyMap<string, T> {
  return new Map(maps.toReversed().flatMap(entries => [...entries]))
}
