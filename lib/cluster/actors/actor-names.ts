/** The actors, by their names on the command line. */

export type ActorName = 'nodes' | 'deployments' | 'jobs'

export const actorNames: readonly ActorName[] = ['nodes', 'deployments', 'jobs']
