-- One table, two kinds of entities: a department is a partition that holds its employees and, under the row key
-- 'Department', what is known of the department itself. Each kind has its own properties; only what employees have is
-- declared, and WITH (open = true) shows the rest as further columns once they are seen.
-- All people are invented.

CREATE TABLE employees (
    "PartitionKey" text,
    "RowKey"       text,
    "FirstName"    text,
    "LastName"     text,
    "Age"          integer,
    "Email"        text,
    "Salary"       numeric(10, 2),
    "HiredAt"      timestamptz,
    "Active"       boolean
) WITH (open = true);

INSERT INTO employees ("PartitionKey", "RowKey", "FirstName", "LastName", "Age", "Email", "Salary", "HiredAt", "Active") VALUES
    ('Marketing', '00001', 'Ines', 'Calloway', 34, 'ines.calloway@example.com', 4850.00, '2016-03-01T09:00:00Z', true),
    ('Marketing', '00002', 'Tomas', 'Berg', 41, 'tomas.berg@example.com', 5320.50, '2012-09-17T09:00:00Z', true),
    ('Marketing', '00003', 'Aiko', 'Marlow', 29, 'aiko.marlow@example.com', 4100.00, '2020-01-06T09:00:00Z', true),
    ('Marketing', '00004', 'Pedro', 'Quist', 52, 'pedro.quist@example.com', 6075.25, '2008-05-12T09:00:00Z', false),
    ('Marketing', '00005', 'Greta', 'Osei', 38, 'greta.osei@example.com', 4990.00, '2014-11-03T09:00:00Z', true);

INSERT INTO employees ("PartitionKey", "RowKey", "FirstName", "LastName", "Age", "Email", "Salary", "HiredAt", "Active") VALUES
    ('Sales', '00006', 'Lukas', 'Fenwick', 45, 'lukas.fenwick@example.com', 5600.00, '2010-02-15T09:00:00Z', true),
    ('Sales', '00007', 'Mira', 'Adeyemi', 27, 'mira.adeyemi@example.com', 3900.00, '2021-06-01T09:00:00Z', true),
    ('Sales', '00008', 'Jonah', 'Strand', 33, 'jonah.strand@example.com', 4425.75, '2017-08-21T09:00:00Z', true),
    ('Sales', '00009', 'Elif', 'Duarte', 48, 'elif.duarte@example.com', 5980.00, '2009-10-05T09:00:00Z', true),
    ('Sales', '00010', 'Ravi', 'Holm', 31, 'ravi.holm@example.com', 4310.00, '2018-04-16T09:00:00Z', false),
    ('Sales', '00011', 'Sofia', 'Lindqvist', 36, 'sofia.lindqvist@example.com', 4760.00, '2015-01-19T09:00:00Z', true);

INSERT INTO employees ("PartitionKey", "RowKey", "FirstName", "LastName", "Age", "Email", "Salary", "HiredAt", "Active") VALUES
    ('Engineering', '00012', 'Noor', 'Hallberg', 39, 'noor.hallberg@example.com', 6900.00, '2013-03-11T09:00:00Z', true),
    ('Engineering', '00013', 'Daniel', 'Okafor', 44, 'daniel.okafor@example.com', 7450.00, '2011-07-04T09:00:00Z', true),
    ('Engineering', '00014', 'Wanda', 'Petrov', 30, 'wanda.petrov@example.com', 5875.00, '2019-02-25T09:00:00Z', true),
    ('Engineering', '00015', 'Yusuf', 'Brandt', 26, 'yusuf.brandt@example.com', 5200.00, '2022-09-12T09:00:00Z', true),
    ('Engineering', '00016', 'Clara', 'Nystrom', 35, 'clara.nystrom@example.com', 6420.00, '2016-10-31T09:00:00Z', true),
    ('Engineering', '00017', 'Hugo', 'Tanaka', 57, 'hugo.tanaka@example.com', 8100.00, '2005-04-18T09:00:00Z', true),
    ('Engineering', '00018', 'Leila', 'Ferro', 32, 'leila.ferro@example.com', 6050.50, '2018-12-03T09:00:00Z', false);

INSERT INTO employees ("PartitionKey", "RowKey", "FirstName", "LastName", "Age", "Email", "Salary", "HiredAt", "Active") VALUES
    ('Support', '00019', 'Oskar', 'Villanueva', 28, 'oskar.villanueva@example.com', 3650.00, '2021-03-08T09:00:00Z', true),
    ('Support', '00020', 'Hanna', 'Boateng', 43, 'hanna.boateng@example.com', 4380.00, '2012-06-25T09:00:00Z', true),
    ('Support', '00021', 'Milo', 'Serrano', 24, 'milo.serrano@example.com', 3400.00, '2023-01-16T09:00:00Z', true),
    ('Support', '00022', 'Freya', 'Kowal', 37, 'freya.kowal@example.com', 4120.00, '2015-09-07T09:00:00Z', true);

INSERT INTO employees ("PartitionKey", "RowKey", "FirstName", "LastName", "Age", "Email", "Salary", "HiredAt", "Active") VALUES
    ('Finance', '00023', 'Beatriz', 'Lang', 50, 'beatriz.lang@example.com', 6640.00, '2007-08-13T09:00:00Z', true),
    ('Finance', '00024', 'Emil', 'Sato', 33, 'emil.sato@example.com', 5105.00, '2017-05-29T09:00:00Z', true),
    ('Finance', '00025', 'Priya', 'Norden', 40, 'priya.norden@example.com', 5730.00, '2013-11-18T09:00:00Z', true);

-- The new properties take the type of what is given, so the numbers say that they are numbers.
INSERT INTO employees ("PartitionKey", "RowKey", "DepartmentName", "EmployeeCount", "Floor")
    VALUES ('Marketing', 'Department', 'Marketing', 5::integer, 'Ground floor');
INSERT INTO employees ("PartitionKey", "RowKey", "DepartmentName", "EmployeeCount", "Floor")
    VALUES ('Sales', 'Department', 'Sales', 6::integer, 'Ground floor');
INSERT INTO employees ("PartitionKey", "RowKey", "DepartmentName", "EmployeeCount", "Floor")
    VALUES ('Engineering', 'Department', 'Engineering', 7::integer, 'Second floor');
INSERT INTO employees ("PartitionKey", "RowKey", "DepartmentName", "EmployeeCount", "Floor")
    VALUES ('Support', 'Department', 'Support', 4::integer, 'First floor');
INSERT INTO employees ("PartitionKey", "RowKey", "DepartmentName", "EmployeeCount", "Floor")
    VALUES ('Finance', 'Department', 'Finance', 3::integer, 'First floor');
