/** What can be made up, by the names that the command line has for it. */

export type ActorName = 'nodes' | 'deployments' | 'jobs'

export const actorNames: readonly ActorName[] = ['nodes', 'deployments', 'jobs']
