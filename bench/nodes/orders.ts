/** The messages between the processes of this bench. */

/** To the source: write to objects of each kind at these rates, in turn. */
export interface ChurnOrder {
  readonly type: 'churn'
  readonly ms: number
  readonly podsPerSecond: number
  readonly slicesPerSecond: number
  readonly leasesPerSecond: number
}

export interface ChurnReport {
  readonly pods: number
  readonly slices: number
  readonly leases: number
}

/** To the nodes: connect, and begin the first watch of each. */
export interface ConnectOrder {
  readonly type: 'connect'
  readonly port: number
  readonly nodes: number
}

/** To the nodes: begin all other watches, those of one node after the other's. */
export interface WatchOrder {
  readonly type: 'watch'
}

/** To the nodes: count from nothing. */
export interface BeginOrder {
  readonly type: 'begin'
}

/** To the nodes: say what has come, once it is as much as that. What takes longer is lost. */
export interface DeliveredOrder {
  readonly type: 'delivered'
  readonly pods: number
  readonly slices: number
  readonly waitMaxMs: number
}

export interface Delivered {
  readonly events: number
  readonly lagP50Ms: number
  readonly lagP99Ms: number
  readonly lagMaxMs: number
}

export interface DeliveredReport {
  readonly pods: Delivered
  readonly slices: Delivered
  /** Watches that were refused or have ended, since they were begun. */
  readonly ended: number
}

/** To the program that is measured: say what memory it has when all is collected that can be. */
export const memoryOrder = 'memory'

export interface MemoryReport {
  readonly heapBytes: number
  readonly externalBytes: number
  readonly rssBytes: number
}
