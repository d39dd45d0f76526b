/** The options of a process that serves many clusters. */

import type { DefaultedOption, Option, OptionRule, ParsedOption } from './option.ts'
import { given } from './rules.ts'

const needsClusters: readonly OptionRule[] = [{ that: given('clusters') }]

const clustersOption: Option = {
  name: 'clusters',
  value: 'PATH',
  help: 'Serves many clusters, each under /clusters/NAME/: a folder of kubeconfigs (the name of each file is that of its cluster), or a YAML file with a list of clusters and their options. Followed while the program runs. Other options count for all of them, with {cluster} for the name. docs/CLUSTERS.md has all.',
}

export const idleAfterOption: DefaultedOption<number> = {
  name: 'idle-after',
  value: 'SECONDS',
  fallback: '600',
  help: 'A cluster of --clusters that nobody has asked for so long has its connections closed and its memory freed, until the next request for it, which waits for its start. 0: never, and all are started at once.',
  parse(text) {
    const seconds = /^\d{1,7}$/.test(text) ? Number(text) : undefined
    return seconds
  },
  wrong: 'is not a number of seconds from 0 to 9999999',
  needs: needsClusters,
}

export const clusterDomainOption: ParsedOption<string> = {
  name: 'cluster-domain',
  value: 'DOMAIN',
  help: 'Clusters of --clusters are also served by name: requests for the host NAME.DOMAIN, or with that TLS server name, go to the cluster NAME.',
  parse(text) {
    const domain = text.toLowerCase()
    return /^(?:[a-z0-9](?:[-a-z0-9]*[a-z0-9])?\.)*[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/.test(domain)
      ? domain
      : undefined
  },
  wrong: 'is not a domain such as clusters.example.com',
  needs: needsClusters,
}

export const fleetOptions: readonly Option[] = [
  clustersOption,
  idleAfterOption,
  clusterDomainOption,
]
