import type { Move } from '../move.ts';
import { attacked } from './attacked.ts';
import { changeMoves } from './changes.ts';
import { clusterMoves } from './cluster.ts';
import { fileMoves } from './files.ts';
import { historyMoves } from './history.ts';
import { jsonLinesMoves } from './json-lines.ts';
import { kafkaMoves } from './kafka.ts';
import { connectorMemoryMoves } from './memory-connectors.ts';
import { memoryMoves } from './memory.ts';
import { mixedLoad } from './mixed.ts';
import { mysqlMoves } from './mysql.ts';
import { objectMoves } from './objects.ts';
import { postgresMoves } from './postgres.ts';
import { dueTogether } from './schedules.ts';
import { serviceMoves } from './service.ts';
import { sqliteMoves } from './sqlite.ts';
import { startMoves } from './start.ts';
import { templateMoves } from './templates.ts';
import { triggerMoves } from './triggers.ts';

export const MOVES: readonly Move[] = [
  ...fileMoves,
  ...jsonLinesMoves,
  ...postgresMoves,
  ...changeMoves,
  ...mysqlMoves,
  ...kafkaMoves,
  ...objectMoves,
  ...sqliteMoves,
  ...startMoves,
  ...serviceMoves,
  mixedLoad,
  ...historyMoves,
  ...clusterMoves,
  dueTogether,
  ...templateMoves,
  ...triggerMoves,
  attacked,
  ...memoryMoves,
  ...connectorMemoryMoves,
];
