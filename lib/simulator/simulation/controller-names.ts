/** The actors of `--simulate`, by their names on the command line. */

export const controllerNames = [
  'nodes',
  'deployments',
  'jobs',
  'statefulsets',
  'daemonsets',
  'cronjobs',
  'services',
  'volumes',
  'budgets',
  'autoscalers',
] as const

export type ControllerName = (typeof controllerNames)[number]
